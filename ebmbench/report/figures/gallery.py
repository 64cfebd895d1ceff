"""Galleries of images: real ones first, then those of each method's median run, all of one kind of samples.

Samples are the first of the run, not chosen. Where the file would be too large, each panel has fewer of them.
"""

import math
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, Canvas, enlargement, largest
from ebmbench.report.figures.image import Image
from ebmbench.report.figures.shown import first_of, shown
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.kinds import NAMES, SAID

ACROSS = 4
SIDES = (8, 6, 5, 4)  # images along the side of a panel: as many as the size of the file allows
TITLE, BETWEEN = 46, 22  # pixels above a panel, and between panels

Panel = tuple[str, str, Any]  # name, note, images (N, C, H, W)


def gallery(root: Path, frame: pd.DataFrame, dataset: str, kind: str, folder: Path) -> Image | None:
    """Draw the samples of a kind; None if no method has any."""
    found = shown(root, frame, dataset, kind)
    drawn = [one for one in found if "images" in one.arrays and one.name != "oracle"]
    if all(is_baseline(one.name) for one in drawn):
        return None
    panels: list[Panel] = [(one.name, one.note, one.arrays["images"]) for one in drawn]
    real = first_of(found, "real")
    panels = [("real images", dataset, real), *panels] if real is not None else panels
    page, side = largest(lambda side: draw(panels, side), SIDES)
    count = min(side * side, max(len(images) for _, _, images in panels))
    file = f"gallery-{dataset}-{kind}.png"
    write_png(page, folder / file)
    names = "; ".join(f"{one.name}: {one.note}" for one in drawn)
    return Image(
        f"figures/{file}",
        f"Real images of {dataset} beside {SAID[kind]}. {names}",
        f"`{dataset}`, {SAID[kind]}: {count} images of each method's median run by FID ratio, the first ones, "
        f"unselected{'; real images first' if real is not None else ''}.",
        f"{dataset}, {NAMES[kind]}",
    )


def draw(panels: list[Panel], side: int) -> Picture.Image:
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
