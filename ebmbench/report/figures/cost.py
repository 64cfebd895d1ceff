"""Quality against cost: how the main metric changed while a method trained.

A column of panels for each dataset: against the network passes spent, of which all methods have the same number,
against the FLOPs of their matrix products, where they were counted, and against the seconds that they took, which
depend on the machine. FLOPs are known at the end of a run; every step of a run costs the same, so at an earlier moment
they are the same share of the whole as the passes are. A line is the median over the seeds that have a
value, a band their range, a marker a moment at which the model was judged; the last is the end of training. A dashed
line is the Gaussian baseline, which learns moments only (of binary data, that of independent units). A likelihood has a
linear axis, for each dataset its own. Images have a figure of their own, of short runs: the one kind
of samples that every method has at every moment.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.report.figures.theme import WIDTH, colour, marker, plain_ticks, save
from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import direction, short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.images import Image

SECTION = "costs"
ORDER = 10

REFERENCES = {"gaussian": "Gaussian", "mean_field": "mean-field"}
ACROSS = 4  # datasets beside each other
HEIGHT = 2.6  # inches of a panel
ALONE = 7.0  # inches of the page that one dataset takes
AXES = {"passes": "network passes", "flops": "matrix FLOPs", "seconds": "seconds of training"}
# A colour belongs to a method: variants of one differ by their line.
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))


@dataclass(frozen=True)
class Part:
    """The curves of one figure, which share a metric."""

    metric: str
    curves: pd.DataFrame
    file: str
    scale: str
    reference: str

    @property
    def name(self) -> str:
        """How the metric is called."""
        return short_name(self.metric)

    @property
    def datasets(self) -> list[str]:
        """In the order of the suite."""
        return list(dict.fromkeys(self.curves["dataset"]))

    @property
    def axes(self) -> list[str]:
        """What there is to draw against."""
        return [by for by in AXES if by in self.curves and self.curves[by].notna().any()]

    @property
    def variants(self) -> list[str]:
        """All lines, in the order of the suite."""
        return list(dict.fromkeys(self.curves["variant"]))


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each main metric: of toy data, and of images."""
    curves = results.curves
    if curves.empty:
        return []
    names = [variant(method, settings) for method, settings in zip(curves["method"], curves["settings"], strict=True)]
    curves = number_moments(curves.assign(variant=names, flops=share_flops(curves, results.frame)))
    timed = curves[curves["value"].notna() & (curves["seconds"] > 0)].groupby("metric", sort=False)
    parts = [_part(results.frame, str(metric), rows) for metric, rows in timed]
    return [_figure(results.frame, part, folder) for part in parts if len(part.curves)]


def _part(frame: pd.DataFrame, metric: str, curves: pd.DataFrame) -> Part:
    """A likelihood on a linear axis, any other metric on a logarithmic one, where it is positive."""
    scale = "linear" if direction(frame, metric) == "higher" else "log"
    known = [name for name in REFERENCES if summarise(frame[frame["method"] == name], metric).values]
    shown = curves if scale == "linear" else curves[curves["value"] > 0]
    return Part(metric, shown, f"cost-{metric}.svg", scale, known[0] if known else "gaussian")


def _figure(frame: pd.DataFrame, part: Part, folder: Path) -> Image:
    """The curves of all methods on all datasets that share a metric."""
    across, down = min(ACROSS, len(part.datasets)), math.ceil(len(part.datasets) / ACROSS)
    rows = len(part.axes) * down
    figure = Figure(figsize=(WIDTH if across > 1 else ALONE, HEIGHT * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False, sharey=part.scale == "log")
    stacks = list(_stacks(axes, len(part.axes)))
    for dataset, stack in zip(part.datasets, stacks, strict=False):
        for axis, by in zip(stack, part.axes, strict=True):
            _panel(axis, part.curves[part.curves["dataset"] == dataset], by, part)
            _reference(axis, frame[frame["dataset"] == dataset], part)
        stack[0].set_title(dataset)
    for axis in (axis for stack in stacks[len(part.datasets) :] for axis in stack):
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel(part.name)
    if part.scale == "log":
        plain_ticks(axes[0, 0].yaxis, *axes[0, 0].get_ylim())  # all panels share it
    figure.legend(handles=_legend(part), loc="outside lower center", ncols=min(8, len(part.variants) + 1))
    save(figure, folder / part.file)
    return _image(part)


def _panel(axis: Axes, rows: pd.DataFrame, by: str, whole: Part) -> None:
    rows = rows[rows[by].notna()]
    if rows.empty:
        axis.set_axis_off()
        return
    for name, part in rows.groupby("variant", sort=False):
        points = compute_medians(part)
        style = _style(str(name), whole.variants)
        axis.plot(points[by], points["median"], linewidth=1.3, markersize=4.5, markeredgewidth=0, **style)
        axis.fill_between(points[by], points["low"], points["high"], color=style["color"], alpha=0.13, linewidth=0)
    axis.set(xscale="log", yscale=whole.scale, xlabel=AXES[by])
    low, high = rows[by].min(), rows[by].max()
    axis.set_xlim(low / 1.25, high * 1.25)
    plain_ticks(axis.xaxis, *axis.get_xlim())


def share_flops(curves: pd.DataFrame, frame: pd.DataFrame) -> pd.Series:
    """The FLOPs that each point's run had spent: those of the whole run by the share of its passes; NaN if unknown."""
    run = ["dataset", "method", "label"]
    flops, passes = (frame[frame["metric"] == name].groupby(run)["value"].first() for name in ("flops", "passes"))
    rate = (flops / passes).reindex(pd.MultiIndex.from_frame(curves[run]))
    return curves["passes"] * rate.to_numpy(dtype=float)


def number_moments(curves: pd.DataFrame) -> pd.DataFrame:
    """The curves with a column `moment`, the place of a point in its run: runs are judged after about as many passes.

    It is counted before points without a value are left out, so that the others keep their place.
    """
    ordered = curves.sort_values("passes", kind="stable")
    return curves.assign(moment=ordered.groupby(["dataset", "variant", "label"]).cumcount())


def compute_medians(rows: pd.DataFrame) -> pd.DataFrame:
    """Of one method on one dataset: at each moment the medians of the costs and the value, and the value's range."""
    moments = rows.groupby("moment")
    found = pd.DataFrame(
        {by: moments[by].median() for by in AXES if by in rows}
        | {
            "median": moments["value"].median(),
            "low": moments["value"].min(),
            "high": moments["value"].max(),
        }
    )
    return found.sort_values("passes")


def _stacks(axes: np.ndarray, size: int) -> Iterator[tuple[Axes, ...]]:
    """The panels of each dataset, from top to bottom, row by row of datasets."""
    for row in range(0, len(axes), size):
        yield from zip(*axes[row : row + size], strict=True)


def _style(name: str, variants: list[str]) -> dict[str, Any]:
    """Colour and marker of the method, and the line of the variant among those of its method."""
    own = [one for one in variants if one.split(" ")[0] == name.split(" ")[0]]
    line = LINES[own.index(name) % len(LINES)]
    return {"color": colour(name), "marker": marker(name), "linestyle": line}


def _reference(axis: Axes, rows: pd.DataFrame, part: Part) -> None:
    known = summarise(rows[rows["method"] == part.reference], part.metric).median
    if known is not None and (known > 0 or part.scale == "linear"):
        axis.axhline(known, color=colour(part.reference), linestyle=(0, (4, 3)), linewidth=1.0, zorder=1)


def _legend(part: Part) -> list[Line2D]:
    names = part.variants
    keys = [Line2D([], [], markersize=6, linewidth=1.3, label=name, **_style(name, names)) for name in names]
    return [*keys, Line2D([], [], linestyle=(0, (4, 3)), color=colour(part.reference), label=part.reference)]


def _image(part: Part) -> Image:
    kinds = [kind for kind in dict.fromkeys(part.curves["samples"]) if kind]
    of = f" of {kinds[0]}-run samples" if kinds else ""
    return Image(
        f"figures/{part.file}",
        f"{part.name} over training, against {_listed(part.axes)}; {', '.join(part.variants)} on "
        f"{', '.join(part.datasets)}",
        f"{part.name}{of} while training: the median over the seeds at each moment that was judged, with their range; "
        f"the last marker is the end of training; dashed: the {REFERENCES[part.reference]} baseline. "
        f"{_explain(part.axes)} The learning "
        "rate falls to zero over the whole budget, so an earlier point is not what a run with that budget would have "
        "reached.",
    )


def _listed(axes: list[str]) -> str:
    return " and ".join([", ".join(axes[:-1]), axes[-1]])


def _explain(axes: list[str]) -> str:
    middle = "in the middle against the FLOPs of matrix products, " if "flops" in axes else ""
    return f"Above against network passes, the unit of the budget, {middle}below against the seconds of one machine."
