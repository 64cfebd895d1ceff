"""Binary images: samples of each method's median run beside real ones, and what the hidden units of machines look for.

A *receptive field* is the column of weights between all visible units and one hidden unit, each on a scale of its own:
white raises the unit, black lowers it, grey does not matter.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, LETTER, Canvas, enlargement, fit_largest
from ebmbench.report.figures.runs import median_run, read_pictures
from ebmbench.report.figures.theme import brief_name, write_png
from ebmbench.report.results.groups import short_name, variants
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import format_count, format_number

SECTION = "samples"
ORDER = 30
ACROSS = 4
DEEP = ("dbn", "dbm")
SIDES = (8, 6, 5, 4)  # images along the side of a panel: as many as the size of the file allows
TITLE, BETWEEN = 46, 22  # pixels above a panel, and between panels
FRAME = 170  # grey between images, which may be black or white at their edges
PARTS = {
    "units": ("samples", "{count} samples of each method's median run by {metric}, the first ones; real events first."),
    "fields": (
        "receptive fields",
        "Weights of up to {count} hidden units of the median run by {metric}; white raises them, black lowers.",
    ),
}

Panel = tuple[str, str, Any]  # name, note, images (N, C, H, W)


def draw(results: Results, folder: Path) -> list[Image]:
    """Two figures for each dataset of binary images."""
    boards = [name for name in results.datasets if results.facts.get(name, {}).get("binary")]
    return [image for name in boards for part in PARTS if (image := _figure(results, name, part, folder)) is not None]


def _figure(results: Results, dataset: str, part: str, folder: Path) -> Image | None:
    panels, real = [], None
    for name, rows in variants(results.toys, dataset).items():
        label, value = median_run(rows, results.main_metric_of(dataset))
        arrays = read_pictures(results, rows, ("real", f"{part}:{label}")) if label else {}
        real = arrays.get("real") if real is None else real
        if f"{part}:{label}" in arrays:
            note = "" if value is None else format_number(value)
            panels.append((brief_name(name), note, arrays[f"{part}:{label}"]))
    if not panels:
        return None
    if part == "units" and real is not None:
        panels.insert(0, ("real", dataset, real))
    image = _page(panels, dataset, part, short_name(results.main_metric_of(dataset)), folder)
    return replace(image, caption=f"{image.caption}{explain_deep(results, dataset)}") if part == "units" else image


def explain_deep(results: Results, dataset: str) -> str:
    """Why a deep machine stands below its first layer alone, if it does; a layer more can only add to a likelihood."""
    metric, rows_of = results.main_metric_of(dataset), variants(results.toys, dataset)
    found = []
    for name, rows in rows_of.items():
        deep = next((model for model in DEEP if f"model={model}" in name), None)
        shallow = rows_of.get(name.replace(f"model={deep}", "model=rbm")) if deep else None
        if deep is None or shallow is None:
            continue
        below = (summarise(shallow, metric).median or 0.0) - (summarise(rows, metric).median or 0.0)
        steps = [int(part["steps"].median()) for part in (rows, shallow) if part["steps"].notna().any()]
        if below > 0 and len(steps) == 2:
            fewer, more = map(format_count, steps)
            found.append(f"`{deep}` by {below:.2g} nats, after {fewer} steps instead of {more}")
    if not found:
        return ""
    return (
        f" Below `rbm`: {'; '.join(found)}. A step of a deep machine takes more passes of the same budget, its first "
        "layer learns alone for a part of it, and its number is a lower bound."
    )


def _page(panels: list[Panel], dataset: str, part: str, metric: str, folder: Path) -> Image:
    most = math.ceil(math.sqrt(max(len(images) for _, _, images in panels)))
    page, side = fit_largest(lambda side: draw_panels(panels, side), [min(side, most) for side in SIDES])
    title, caption = PARTS[part]
    file = f"{part}-{dataset}.png"
    write_png(page, folder / file)
    count = min(side * side, max(len(images) for _, _, images in panels))
    names = ", ".join(name for name, _, _ in panels)
    text = f"`{dataset}`: {caption.format(count=count, metric=metric)}"
    return Image(f"figures/{file}", f"{title} on {dataset}: {names}", text)


def draw_panels(panels: list[Panel], side: int) -> Picture.Image:
    """The panels in rows of at most `ACROSS`."""
    height, width = panels[0][2].shape[-2:]
    scale = enlargement(width)
    across, down = min(ACROSS, len(panels)), math.ceil(len(panels) / ACROSS)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    widest = max(LETTER * len(name) for name, _, _ in panels)
    wide, high = max(side * step_x, widest) + BETWEEN, side * step_y + TITLE + BETWEEN // 2
    page = Canvas(across * wide, down * high)
    for place, (name, note, images) in enumerate(panels):
        centre, top = place % ACROSS * wide + wide / 2, place // ACROSS * high
        page.write(name, centre, top + 18, bold=True)
        page.write(note, centre, top + 37, size=8.5)
        left, rows = round(centre - side * step_x / 2), math.ceil(min(len(images), side * side) / side)
        area = page.pixels[top + TITLE - GAP : top + TITLE + rows * step_y, left - GAP : left + side * step_x]
        area[:] = FRAME
        for index, image in enumerate(images[: side * side]):
            page.paste(image, left + index % side * step_x, top + TITLE + index // side * step_y, scale)
    return page.image()
