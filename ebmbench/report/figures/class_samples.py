"""Samples of each class, a row for each, of models that know the labels: chains of E(x|y) = −f_y(x) from noise.

They are the first of the median run, by the kind of samples that the strip of images shows; not chosen.
"""

from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, LETTER, PAGE, Canvas, enlargement, fit_size
from ebmbench.report.figures.runs import first_array, read_image_runs, read_pictures
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.kinds import kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 45
HEAD = 26  # pixels above the rows of a model

Panel = tuple[str, list[str], Any]  # name, classes, images (classes, N, C, H, W)


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each image dataset on which a model draws from each class."""
    return [image for dataset in results.image_datasets if (image := _figure(results, dataset, folder)) is not None]


def _figure(results: Results, dataset: str, folder: Path) -> Image | None:
    kind = min(kinds(results.frame, dataset), key=lambda kind: kind != "short", default="short")
    panels, runs = [], read_image_runs(results, dataset, kind)
    known = first_array(runs, "classes")
    for one in runs:
        for images in read_pictures(results, one.rows, [f"conditional:{one.label}"]).values():
            classes = range(len(images)) if known is None else known
            panels.append((one.name, [str(name) for name in classes], images))
    if not panels:
        return None
    file = f"class-samples-{dataset}.png"
    page = draw_panels(panels)
    write_png(fit_size(page) or page, folder / file)
    names = ", ".join(name for name, *_ in panels)
    return Image(
        f"figures/{file}",
        f"Samples of each class of {dataset} by {names}, a row for each class.",
        f"`{dataset}`: samples of each class, unselected: chains of E(x\u2009|\u2009y) from noise, of the median run.",
    )


def draw_panels(panels: list[Panel]) -> Picture.Image:
    """One model below another; each row is a class with as many images as fit."""
    height, width = panels[0][2].shape[-2:]
    scale = enlargement(width)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    left = 8 + LETTER * max(len(name) for _, classes, _ in panels for name in classes)
    count = min(max(images.shape[1] for *_, images in panels), max(1, (PAGE - left) // step_x))
    wide = max(left + count * step_x, LETTER * max(len(name) for name, *_ in panels))
    page = Canvas(wide, sum(HEAD + len(classes) * step_y for _, classes, _ in panels))
    top = 0
    for name, classes, images in panels:
        page.write(name, 4, top + HEAD - 8, bold=True, at="left")
        top += HEAD
        for row, of_class in zip(classes, images, strict=True):
            page.write(row, left - 8, top + step_y / 2 + 4, at="right")
            for column, image in enumerate(of_class[:count]):
                page.paste(image, left + column * step_x, top, scale)
            top += step_y
    return page.image()
