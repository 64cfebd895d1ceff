"""Binary images: samples of each method's median run beside real ones, and what the hidden units of machines look for.

A *receptive field* is the column of weights between all visible units and one hidden unit, each on a scale of its own:
white raises the unit, black lowers it, grey does not matter.
"""

import math
from pathlib import Path

from ebmbench.report.figures.canvas import fit_largest
from ebmbench.report.figures.gallery import SIDES, Panel, draw_panels
from ebmbench.report.figures.runs import median_run, read_pictures
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.groups import short_name, variants
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 30
PARTS = {
    "units": ("samples", "{count} samples of each method's median run by {metric}, the first ones; real events first."),
    "fields": (
        "receptive fields",
        "Weights of up to {count} hidden units of the median run by {metric}; white raises them, black lowers.",
    ),
}


def draw(results: Results, folder: Path) -> list[Image]:
    """Two figures for each dataset of binary images."""
    boards = [name for name in results.datasets if results.facts.get(name, {}).get("binary")]
    return [image for name in boards for part in PARTS if (image := _figure(results, name, part, folder)) is not None]


def _figure(results: Results, dataset: str, part: str, folder: Path) -> Image | None:
    panels, real = [], None
    for name, rows in variants(results.toys, dataset).items():
        label, value = median_run(rows, results.main_metric)
        arrays = read_pictures(results, rows) if label else {}
        real = arrays.get("real") if real is None else real
        if f"{part}:{label}" in arrays:
            note = "" if value is None else f"{value:.4g}"
            panels.append((_short(name), note, arrays[f"{part}:{label}"]))
    if not panels:
        return None
    if part == "units" and real is not None:
        panels.insert(0, ("real", dataset, real))
    return _page(panels, dataset, part, short_name(results.main_metric), folder)


def _page(panels: list[Panel], dataset: str, part: str, metric: str, folder: Path) -> Image:
    most = math.ceil(math.sqrt(max(len(images) for _, _, images in panels)))
    page, side = fit_largest(lambda side: draw_panels(panels, side), [min(side, most) for side in SIDES])
    title, caption = PARTS[part]
    file = f"{part}-{dataset}.png"
    write_png(page, folder / file)
    count = min(side * side, max(len(images) for _, _, images in panels))
    names = ", ".join(name for name, _, _ in panels)
    text = f"`{dataset}`: {caption.format(count=count, metric=metric)}"
    return Image(f"figures/{file}", f"{title} on {dataset}: {names}", text, f"{dataset}, {title}", "Binary images")


def _short(name: str) -> str:
    """A method with its swept values, names without their keys: `mle rbm tempering`, `cd persistent=True`."""
    method, *settings = name.replace(",", " ").split()
    return " ".join([method, *(one if one.endswith(("True", "False")) else one.rpartition("=")[2] for one in settings)])
