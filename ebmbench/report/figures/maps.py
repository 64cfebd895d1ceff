"""Panels of data in the plane, one for each method: its median run by the suite's main metric.

That is a typical result, neither the best nor the worst. A method without a value shows its first good run.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ebmbench.report.figures.runs import median_run, read_pictures
from ebmbench.report.figures.theme import EMPTY, WIDTH
from ebmbench.report.results.groups import short_name, variants
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_verdicts
from ebmbench.report.text.numbers import ROUNDING
from ebmbench.workspace.layout import BASELINES

Array = NDArray[np.float64]
Window = tuple[tuple[float, float], tuple[float, float]]
ACROSS = 5
SUPPORT = 1e-3  # of the largest density; METHODS.md counts the mass outside as off the support


@dataclass(frozen=True)
class Panel:
    """One method's median run; `arrays` may lack the model, the samples or the truth."""

    name: str
    note: str
    label: str = ""
    arrays: Mapping[str, Array] = field(default_factory=dict)
    unscored: bool = False  # a good run, chosen without a value of the main metric

    @property
    def density(self) -> Array | None:
        """The learned density, row by row of y."""
        return self.arrays.get(f"model:{self.label}")

    @property
    def samples(self) -> Array | None:
        """Points, shape (n, 2)."""
        return self.arrays.get(f"samples:{self.label}")


def panels(results: Results, dataset: str) -> list[Panel]:
    """A panel for each method on the dataset; empty if no cell has maps (data not two-dimensional)."""
    methods = variants(results.frame, dataset)
    found = [_panel(results, name, rows) for name, rows in methods.items() if name != BASELINES]
    return found if any("x" in one.arrays for one in found) else []


def truth_of(found: list[Panel]) -> Panel | None:
    """The panel whose arrays hold the density of the data, if it is known."""
    return next((one for one in found if "truth" in one.arrays), None)


def limits(found: list[Panel]) -> Window:
    """The square to show: the data's support and a half of its size around, as far as all grids reach."""
    reach = [_reach(found, name) for name in ("x", "y")]
    truth = truth_of(found)
    wanted = reach if truth is None else [_support(truth, "x", 0), _support(truth, "y", 1)]
    size = max(high - low for low, high in wanted) * (1.0 if truth is None else 1.5)
    x, y = (_around(sum(one) / 2, size, ends) for one, ends in zip(wanted, reach, strict=True))
    return x, y


def grid(count: int) -> tuple[Figure, list[Axes]]:
    """Square panels in rows of at most `ACROSS`; the places left over stay empty."""
    across = min(ACROSS, count)
    down = math.ceil(count / across)
    size = WIDTH / ACROSS
    figure = Figure(figsize=(size * across, (size + 0.45) * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def frame_panel(axis: Axes, title: str, window: Window) -> None:
    """Equal scales, the shared window, no ticks: the shapes matter, not the coordinates."""
    axis.set(xlim=window[0], ylim=window[1], aspect="equal", xticks=[], yticks=[])
    axis.set_title(title, linespacing=1.3)


def empty_panel(axis: Axes, what: str) -> None:
    """A grey ground that says what is missing."""
    axis.set_facecolor(EMPTY)
    axis.text(0.5, 0.5, what, ha="center", va="center", transform=axis.transAxes, color="#777777")


def outline(axis: Axes, truth: Panel | None) -> None:
    """The edge of the data's support, where their density is known."""
    if truth is not None:
        p = truth.arrays["truth"]
        x, y = truth.arrays["x"], truth.arrays["y"]
        axis.contour(x, y, p, levels=[SUPPORT * p.max()], colors="#777777", linewidths=0.5)


def _panel(results: Results, name: str, rows: pd.DataFrame) -> Panel:
    metric = results.main_metric_of(str(rows["dataset"].iloc[0]))
    label, value = median_run(rows, metric)
    if not label:
        return Panel(name, describe_verdicts(rows))
    seed = f"seed {label.rpartition('seed=')[2]}"
    arrays = {key: np.asarray(one, dtype=np.float64) for key, one in read_pictures(results, rows).items()}
    if value is None:
        return Panel(name, seed, label, arrays, unscored=True)
    shown = value if abs(value) > ROUNDING else 0
    return Panel(name, f"{short_name(metric)} {shown:.3g}, {seed}", label, arrays)


def _reach(found: list[Panel], name: str) -> tuple[float, float]:
    grids = [one.arrays[name] for one in found if name in one.arrays]
    return max(float(one.min()) for one in grids), min(float(one.max()) for one in grids)


def _support(truth: Panel, name: str, axis: int) -> tuple[float, float]:
    p = truth.arrays["truth"]
    inside = truth.arrays[name][(p > SUPPORT * p.max()).any(axis=axis)]
    return float(inside.min()), float(inside.max())


def _around(centre: float, size: float, ends: tuple[float, float]) -> tuple[float, float]:
    return max(ends[0], centre - size / 2), min(ends[1], centre + size / 2)
