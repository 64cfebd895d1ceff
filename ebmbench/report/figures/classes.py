"""Into which classes the samples fall, by the reference classifier: a panel for each method's median run.

A dashed line is an even share, dots are the shares of real test images. The figure shows lost modes; it cannot show
whether samples look like anything, for a classifier finds a class for every image.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.report.figures.runs import ImageRun, first_array, read_image_runs
from ebmbench.report.figures.theme import INK, WIDTH, colour, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.kinds import NAMES, SAMPLES, kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 40
HEADING = "Classes of the samples"
ACROSS = 4
HEIGHT = 1.5  # inches of a panel, without the names of classes
REAL = "real test images"


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each image dataset and kind of samples that a method has."""
    pairs = [(dataset, kind) for dataset in results.image_datasets for kind in kinds(results.frame, dataset)]
    return [image for pair in pairs if (image := _figure(results, *pair, folder)) is not None]


def _figure(results: Results, dataset: str, kind: str, folder: Path) -> Image | None:
    runs = [one for one in read_image_runs(results, dataset, kind) if "histogram" in one.arrays]
    real = next((_shares(one) for one in runs if one.name == "oracle"), None)
    found = [one for one in runs if one.name != "oracle"]
    if all(is_baseline(one.name) for one in found):
        return None
    names = _names(first_array(runs, "classes"), found[0])
    across, down = min(ACROSS, len(found)), math.ceil(len(found) / ACROSS)
    tall = 0.06 * max(map(len, names)) if max(map(len, names)) > 2 else 0.0
    figure = Figure(figsize=(WIDTH * across / ACROSS, (HEIGHT + 0.45) * down + tall + 0.35), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey=True, sharex=True)
    for axis, one in zip(axes.flat, found, strict=False):
        _panel(axis, one, real, names)
    for place, axis in enumerate(axes.flat):
        axis.set_axis_off() if place >= len(found) else axis.tick_params(labelbottom=place + across >= len(found))
    for row in axes:
        row[0].set_ylabel("share")
    figure.legend(handles=_legend(real is not None), loc="outside lower center", ncols=2)
    file = f"classes-{dataset}-{kind}.svg"
    save(figure, folder / file)
    return _image(dataset, kind, found, file)


def _panel(axis: Axes, one: ImageRun, real: Any, names: list[str]) -> None:
    places, shares = np.arange(len(names)), _shares(one)
    axis.bar(places[: len(shares)], shares, color=colour(one.name), width=0.8, linewidth=0, zorder=2)
    axis.axhline(1 / len(names), color=INK, linestyle="--", linewidth=0.8, zorder=3)
    if real is not None:
        axis.plot(places[: len(real)], real, linestyle="", zorder=4, **_dot())
    long = max(map(len, names)) > 2
    axis.set_xticks(places, names, rotation=90 if long else 0)
    axis.grid(visible=False, axis="x")
    axis.set_title(f"{one.name}\n{_entropy(one)}", linespacing=1.3)


def _entropy(one: ImageRun) -> str:
    known = one.value("class_entropy")
    return f"entropy {known:.3g}, {one.seed}" if known is not None else one.seed


def _shares(one: ImageRun) -> Any:
    counts = one.arrays["histogram"].astype(np.float64)
    return counts / max(1.0, float(counts.sum()))


def _names(known: Any, one: ImageRun) -> list[str]:
    count = len(one.arrays["histogram"])
    return [str(name) for name in known] if known is not None and len(known) == count else list(map(str, range(count)))


def _dot() -> dict[str, Any]:
    edge = {"markeredgecolor": INK, "markeredgewidth": 0.7}
    return {"marker": "o", "markersize": 3.2, "markerfacecolor": "white", **edge}


def _legend(real: bool) -> list[Line2D]:
    even = Line2D([], [], color=INK, linestyle="--", linewidth=0.8, label="even share")
    return [even, Line2D([], [], linestyle="", label=REAL, **_dot())] if real else [even]


def _image(dataset: str, kind: str, found: list[ImageRun], file: str) -> Image:
    shown_as = "; ".join(f"{one.name}: {_entropy(one)}" for one in found)
    return Image(
        f"figures/{file}",
        f"Shares of classes among {SAMPLES[kind]} on {dataset}. {shown_as}",
        f"`{dataset}`, {SAMPLES[kind]}: the share of each class among all samples of the same runs, as the reference "
        "classifier sees them, and the entropy of these shares.",
        f"{dataset}, {NAMES[kind]}",
        HEADING,
    )
