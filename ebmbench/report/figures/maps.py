"""Panels of data in the plane, one for each method: its median run by the suite's main metric.

That is a typical result, neither the best nor the worst. A method without a value shows its first good run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ebmbench.report.figures.runs import median_run, read_pictures
from ebmbench.report.figures.theme import EMPTY, WIDTH
from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.results.groups import short_name, variants
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_verdicts, lost_cell
from ebmbench.report.text.numbers import ROUNDING
from ebmbench.workspace.layout import BASELINES

Array = NDArray[np.float64]
Window = tuple[tuple[float, float], tuple[float, float]]
ACROSS = (4, 5)  # panels beside each other: of these, what leaves the fewest places empty
ARRAYS = ("x", "y", "truth", "data", "composed_truth", "turn")  # that all runs share
OWN = ("model", "samples", "path", "path_steps", "composed", "composed_kl")
TITLE = 0.23  # inches of a line of a title
LONGEST = 14  # letters of a name on one line
SUPPORT = 1e-3  # of the largest density; METHODS.md counts the mass outside as off the support


@dataclass(frozen=True)
class Panel:
    """One method's median run with its value of the main metric, if it has one; any of the arrays may be missing."""

    name: str
    note: str
    label: str = ""
    arrays: dict[str, Array] = field(default_factory=dict)
    value: float | None = None

    @property
    def density(self) -> Array | None:
        """The learned density, row by row of y."""
        return self.arrays.get("model")

    @property
    def samples(self) -> Array | None:
        """Points, shape (n, 2)."""
        return self.arrays.get("samples")

    @property
    def title(self) -> str:
        """Its name and its note, which fit above a panel."""
        name = self.name if len(self.name) <= LONGEST else self.name.replace(" ", "\n", 1)
        return f"{name}\n{self.note}".rstrip()


def panels(results: Results, dataset: str) -> list[Panel]:
    """A panel for each method that was run on the dataset; empty if no cell has maps (data not two-dimensional)."""
    methods = {name: rows for name, rows in variants(results.frame, dataset).items() if lost_cell(rows) != NOT_RUN}
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


def grid(shown: Sequence[Panel], below: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A square for each panel, in rows, with so many inches below; the places left over stay empty."""
    count = len(shown)
    across = count if count <= max(ACROSS) else min(ACROSS, key=lambda across: -count % across)
    down = math.ceil(count / across)
    size, lines = WIDTH / max(across, min(ACROSS)), 1 + max(one.title.count("\n") for one in shown)
    figure = Figure(figsize=(size * across, (size + TITLE * lines) * down + below), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def frame_panel(axis: Axes, title: str, window: Window) -> None:
    """Equal scales, the shared window, no ticks: the shapes matter, not the coordinates."""
    axis.set(xlim=window[0], ylim=window[1], aspect="equal", xticks=[], yticks=[])
    axis.set_title(title, linespacing=1.3)


def draw_points(axis: Axes, points: Array, shade: str) -> None:
    """A cloud of points."""
    axis.scatter(points[:, 0], points[:, 1], s=2, color=shade, alpha=0.6, linewidths=0)


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
    wanted = {key: key for key in ARRAYS} | {f"{key}:{label}": key for key in OWN}
    stored = read_pictures(results, rows, wanted)
    arrays = {wanted[key]: np.asarray(one, dtype=np.float64) for key, one in stored.items()}
    title = short_name(metric)
    shown = f"{title} {value if abs(value) > ROUNDING else 0:.3g}" if value is not None else f"no {title}"
    return Panel(name, shown, label, arrays, value)


def _reach(found: list[Panel], name: str) -> tuple[float, float]:
    grids = [one.arrays[name] for one in found if name in one.arrays]
    return max(float(one.min()) for one in grids), min(float(one.max()) for one in grids)


def _support(truth: Panel, name: str, axis: int) -> tuple[float, float]:
    p = truth.arrays["truth"]
    inside = truth.arrays[name][(p > SUPPORT * p.max()).any(axis=axis)]
    return float(inside.min()), float(inside.max())


def _around(centre: float, size: float, ends: tuple[float, float]) -> tuple[float, float]:
    return max(ends[0], centre - size / 2), min(ends[1], centre + size / 2)
