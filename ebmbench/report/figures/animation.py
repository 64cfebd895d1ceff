"""Chains on their way from noise to samples, as a short animation: of each image dataset, and of one in the plane.

The best methods are shown, each at moments of its own that lie ever farther apart. The first frame is the end, which is
shown longest: who sees no motion sees the samples.
"""

import math
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, PAGE, Canvas
from ebmbench.report.figures.chains import brief, choose_chains
from ebmbench.report.figures.maps import Panel, Window, frame_panel, grid, limits, outline, panels, truth_of
from ebmbench.report.figures.theme import DOTS, colour
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import datasets, direction
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 17
PAUSE, START, REST = 3000, 1200, 600  # milliseconds of the end, of the start and of the other frames
IMAGES, POINTS = 3, 4  # methods of an animation
CELL, ACROSS, LINES = 64, 4, 2  # pixels that an image takes, about, and the images of a method
HEAD, BETWEEN = 24, 16  # pixels of a line of words, and between methods

Block = tuple[str, str, Any, Any]  # name, FID ratio, chains (N, T, C, H, W), steps (T,)


def draw(results: Results, folder: Path) -> list[Image]:
    """An animation of each image dataset with chains, and of the first of the others."""
    found = [_film_images(results, dataset, folder) for dataset in results.image_datasets]
    points = (_film_points(results, dataset, folder) for dataset in datasets(results.toys))
    found.append(next((image for image in points if image is not None), None))
    return [image for image in found if image is not None]


def _film_images(results: Results, dataset: str, folder: Path) -> Image | None:
    runs = [one for one, _ in choose_chains(results, dataset) if one.ratio is not None]
    best = sorted(runs, key=lambda one: one.ratio or math.inf)[:IMAGES]
    blocks = [(one.name, one.quality, one.arrays["chain"], one.arrays["chain_steps"]) for one in best]
    count = max((len(steps) for *_, steps in blocks), default=0)
    file = folder / f"film-{dataset}.webp"
    return _write(dataset, lambda share: draw_images(blocks, share), count, [one.name for one in best], file)


def _film_points(results: Results, dataset: str, folder: Path) -> Image | None:
    found = panels(results, dataset)
    known = [one for one in found if "path" in one.arrays and not is_baseline(one.name)]
    sign = -1 if direction(results.frame, results.main_metric) == "higher" else 1
    best = sorted(known, key=lambda one: math.inf if one.value is None else sign * one.value)[:POINTS]
    count = max((len(one.arrays["path_steps"]) for one in best), default=0)
    truth, window = truth_of(found), limits(found) if best else ((0, 0), (0, 0))
    file = folder / f"film-{dataset}.webp"
    return _write(
        dataset, lambda share: _draw_points(best, truth, window, share), count, [one.name for one in best], file
    )


def _write(
    dataset: str, show: Callable[[float], Picture.Image], count: int, names: list[str], file: Path
) -> Image | None:
    """The end, then the way to it from the start."""
    if count < 2:
        return None
    last, *others = [show(place / (count - 1)) for place in (count - 1, *range(count - 1))]
    file.parent.mkdir(parents=True, exist_ok=True)
    times = [PAUSE, START, *[REST] * (count - 2)]
    last.save(file, save_all=True, append_images=others, duration=times, loop=0, lossless=True, quality=100, method=4)
    return Image(
        f"figures/{file.name}",
        f"Animation of chains of {', '.join(names)} on {dataset}, from noise to samples.",
        f"`{dataset}`: the chains of the best methods' median runs, from noise to samples.",
    )


def draw_images(blocks: list[Block], share: float) -> Picture.Image:
    """The methods beside each other, when this share of their moments has passed."""
    height, width = blocks[0][2].shape[-2:]
    scale = max(1, CELL // width)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    wide = max(ACROSS * step_x + BETWEEN, PAGE // IMAGES)
    page = Canvas(wide * len(blocks), 2 * HEAD + LINES * step_y)
    for place, (name, ratio, images, steps) in enumerate(blocks):
        left, moment = place * wide + (wide - ACROSS * step_x) // 2, round(share * (len(steps) - 1))
        page.write(name, left, HEAD - 6, bold=True, at="left")
        page.write(_say(steps[moment]), left, 2 * HEAD - 6, at="left")
        page.write(f"FID ratio {ratio}", left + ACROSS * step_x - GAP, 2 * HEAD - 6, at="right")
        for index, image in enumerate(images[: ACROSS * LINES, moment]):
            page.paste(image, left + index % ACROSS * step_x, 2 * HEAD + index // ACROSS * step_y, scale)
    return page.image().convert("RGB")


def _draw_points(shown: list[Panel], truth: Panel | None, window: Window, share: float) -> Picture.Image:
    figure, axes = grid(shown)
    for axis, one in zip(axes, shown, strict=True):
        moment = round(share * (len(one.arrays["path_steps"]) - 1))
        x, y = one.arrays["path"][:, moment].T
        axis.scatter(x, y, s=5, color=colour(one.name), alpha=0.7, linewidths=0)
        outline(axis, truth)
        frame_panel(axis, f"{one.name}\n{_say(one.arrays['path_steps'][moment])}", window)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DOTS, format="png")
    return Picture.open(drawn).convert("RGB")


def _say(steps: int) -> str:
    return f"after {brief(int(steps))} steps" if steps else "start: noise"
