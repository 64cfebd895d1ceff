"""Objectives crossed with training samplers: a panel for each dataset, dark where the main metric is bad.

Dark columns say that the chains decide, dark rows that the objective does.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ebmbench.report.figures.theme import INK, WIDTH, brief_name, density_colours, save
from ebmbench.report.results.groups import short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.factors import Crossing, find_crossings
from ebmbench.report.statistics.seeds import Summary
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import MISSING, format_number

SECTION = "samplers"
ORDER = 10
ACROSS = 3
ROW, REST = 0.34, 1.15  # inches of a row, and of a panel's title and the names below it
DARKEST = 0.8  # of the colours: words can be read on it
FILE = "objective-sampler.svg"


def draw(results: Results, folder: Path) -> list[Image]:
    """One figure, if samplers are crossed with methods."""
    crossings = find_crossings(results)
    if not crossings:
        return []
    across, down = min(ACROSS, len(crossings)), math.ceil(len(crossings) / ACROSS)
    height = down * (ROW * max(len(one.objectives) for one in crossings) + REST)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for place, (axis, one) in enumerate(zip(axes, crossings, strict=False)):
        _panel(axis, one, names=place % across == 0)
    for axis in axes[len(crossings) :]:
        axis.set_axis_off()
    save(figure, folder / FILE)
    return [_image(crossings)]


def _panel(axis: Axes, one: Crossing, names: bool) -> None:
    """The medians of one dataset; a cell in which no run has a value stays white."""
    found = one.summaries
    medians = np.array(
        [
            [_median(found.get((objective, sampler)), one.logarithmic) for sampler in one.samplers]
            for objective in one.objectives
        ]
    )
    shade = _shades(medians, higher={each.direction for each in found.values()} == {"higher"})
    axis.imshow(shade, cmap=density_colours(), vmin=0, vmax=1, aspect="auto")
    axis.grid(visible=False)
    axis.set_title(one.dataset)
    axis.set_xticks(range(len(one.samplers)), one.samplers, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(one.objectives)), map(brief_name, one.objectives) if names else [])
    style: dict[str, Any] = {"ha": "center", "va": "center", "size": min(8.0, 34 / len(one.samplers))}
    for row, objective in enumerate(one.objectives):
        for column, sampler in enumerate(one.samplers):
            words = _words(found.get((objective, sampler)))
            axis.text(column, row, words, color="white" if shade[row, column] > 0.4 else INK, **style)


def _words(summary: Summary | None) -> str:
    """The median, and below it how many runs gave a value if not all did."""
    if summary is None:
        return MISSING
    return _brief(summary.median) + ("" if summary.complete else f"\n{len(summary.values)}/{summary.runs}")


def _median(summary: Summary | None, logarithmic: bool) -> float:
    value = None if summary is None else summary.median
    if value is None or not math.isfinite(value):
        return math.nan
    return math.log(value) if logarithmic else float(value)


def _shades(medians: np.ndarray, higher: bool) -> np.ndarray:
    """From 0 for the best to `DARKEST` for the worst."""
    known = medians[np.isfinite(medians)]
    if not known.size or np.ptp(known) == 0:
        return np.where(np.isfinite(medians), 0.1, np.nan)
    shade: np.ndarray = (medians - known.min()) / np.ptp(known)
    return DARKEST * (1 - shade if higher else shade)


def _brief(value: float | None) -> str:
    """Two significant digits: three do not fit into a cell."""
    return format_number(value) if value is None or not math.isfinite(value) else f"{float(f'{value:.1e}'):g}"


def _image(crossings: list[Crossing]) -> Image:
    sets = ", ".join(one.dataset for one in crossings)
    metric = " or ".join(dict.fromkeys(short_name(one.metric) for one in crossings))
    return Image(
        f"figures/{FILE}",
        f"{metric} by objective and sampler of training on {sets}",
        f"Median {metric} of each objective (rows) with each sampler of training (columns); the darker the worse, each "
        "panel on its own scale. Columns of one shade: the chains decide; rows of one shade: the objective does.",
    )
