"""Galleries of images: real ones first, then those of each method's median run, all of one kind of samples.

Samples are the first of the run, not chosen. Where the file would be too large, each panel has fewer of them.
"""

import math
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, Canvas, enlargement, fit_largest
from ebmbench.report.figures.runs import first_array, read_image_runs
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.kinds import NAMES, SAMPLES, kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 20
HEADING = "Galleries"
ACROSS = 4
SIDES = (8, 6, 5, 4)  # images along the side of a panel: as many as the size of the file allows
TITLE, BETWEEN = 46, 22  # pixels above a panel, and between panels

Panel = tuple[str, str, Any]  # name, note, images (N, C, H, W)


def draw(results: Results, folder: Path) -> list[Image]:
    """A gallery for each image dataset and kind of samples that a method has."""
    pairs = [(dataset, kind) for dataset in results.image_datasets for kind in kinds(results.frame, dataset)]
    return [image for pair in pairs if (image := _gallery(results, *pair, folder)) is not None]


def _gallery(results: Results, dataset: str, kind: str, folder: Path) -> Image | None:
    found = read_image_runs(results, dataset, kind)
    drawn = [one for one in found if "images" in one.arrays and one.name != "oracle"]
    if all(is_baseline(one.name) for one in drawn):
        return None
    panels: list[Panel] = [(one.name, one.note, one.arrays["images"]) for one in drawn]
    real = first_array(found, "real")
    panels = [("real images", dataset, real), *panels] if real is not None else panels
    page, side = fit_largest(lambda side: draw_panels(panels, side), SIDES)
    count = min(side * side, max(len(images) for _, _, images in panels))
    file = f"gallery-{dataset}-{kind}.png"
    write_png(page, folder / file)
    names = "; ".join(f"{one.name}: {one.note}" for one in drawn)
    return Image(
        f"figures/{file}",
        f"Real images of {dataset} beside {SAMPLES[kind]}. {names}",
        f"`{dataset}`, {SAMPLES[kind]}: {count} images of each method's median run by FID ratio, the first ones, "
        f"unselected{'; real images first' if real is not None else ''}.",
        f"{dataset}, {NAMES[kind]}",
        HEADING,
    )


def draw_panels(panels: list[Panel], side: int) -> Picture.Image:
    """The panels in rows of at most `ACROSS`."""
    height, width = panels[0][2].shape[-2:]
    scale = enlargement(width)
    across, down = min(ACROSS, len(panels)), math.ceil(len(panels) / ACROSS)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    wide, high = side * step_x + BETWEEN, side * step_y + TITLE + BETWEEN // 2
    page = Canvas(across * wide, down * high)
    for place, (name, note, images) in enumerate(panels):
        left, top = place % ACROSS * wide + BETWEEN // 2, place // ACROSS * high
        page.write(name, left + side * step_x / 2, top + 18, bold=True)
        page.write(note, left + side * step_x / 2, top + 37, size=8.5)
        for index, image in enumerate(images[: side * side]):
            page.paste(image, left + index % side * step_x, top + TITLE + index // side * step_y, scale)
    return page.image()
