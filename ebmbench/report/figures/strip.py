"""A strip of images for a first look: real ones, then a line of each method's samples, the best FID ratio first.

Samples are of short runs from noise, or else of the first kind that there is; they are the first of the median run, not
chosen.
"""

import math
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, LETTER, NUMBER, PAGE, Canvas, enlargement, fit_size
from ebmbench.report.figures.runs import first_array, read_image_runs
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.kinds import SAMPLES, kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 15
HEAD = 22  # pixels above the lines
LARGEST = 150_000  # bytes: it is to stand on first screens

Line = tuple[str, str, Any]  # name, FID ratio, images (N, C, H, W)


def draw(results: Results, folder: Path) -> list[Image]:
    """A strip for each image dataset on which a method has samples."""
    return [image for dataset in results.image_datasets if (image := _strip(results, dataset, folder)) is not None]


def _strip(results: Results, dataset: str, folder: Path) -> Image | None:
    kind = min(kinds(results.frame, dataset), key=lambda kind: kind != "short", default="short")
    runs = read_image_runs(results, dataset, kind)
    found = [one for one in runs if "images" in one.arrays and not is_baseline(one.name)]
    if not found:
        return None
    found.sort(key=lambda one: math.inf if one.ratio is None else one.ratio)
    real = first_array(runs, "real")
    lines = [("real images", "", real)] if real is not None else []
    lines += [(one.name, one.quality, one.arrays["images"]) for one in found]
    file = f"strip-{dataset}.png"
    page = draw_lines(lines)
    write_png(fit_size(page, LARGEST) or page, folder / file)
    return Image(
        f"figures/{file}",
        f"Real images of {dataset} above {SAMPLES[kind]} of {', '.join(one.name for one in found)}.",
        f"`{dataset}`: {SAMPLES[kind]} of each method's median run, unselected, the best FID ratio first.",
    )


def draw_lines(lines: list[Line]) -> Picture.Image:
    """Each line has its name, its FID ratio and as many images as fit."""
    height, width = lines[0][2].shape[-2:]
    scale = enlargement(width)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    names = LETTER * max(len(name) for name, _, _ in lines)
    left = names + NUMBER
    count = max(1, (PAGE - left) // step_x)
    page = Canvas(left + count * step_x, HEAD + len(lines) * step_y)
    page.write("FID ratio", left - 8, HEAD - 6, size=8.5, at="right")
    for place, (name, ratio, images) in enumerate(lines):
        top = HEAD + place * step_y
        page.write(name, 4, top + step_y / 2 + 5, bold=True, at="left")
        page.write(ratio, left - 8, top + step_y / 2 + 5, at="right")
        for column, image in enumerate(images[:count]):
            page.paste(image, left + column * step_x, top, scale)
    return page.image()
