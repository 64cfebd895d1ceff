"""Quality against compute: how the main metric changed while a method trained, and who led at which compute.

A panel for each dataset. Against network passes, of which all methods have the same number, and in a second figure
against the FLOPs of their matrix products, where they were counted. FLOPs are known at the end of a run; every step
of a run costs the same, so at an earlier moment they are the same share of the whole as the passes are. A line is the
median over the seeds that have a value, a band their range, a marker a moment at which the model was judged; the last
is the end of training. The bar below names the method with the best median so far. A dashed line is the Gaussian
baseline, which learns moments only, or of binary data that of independent units. A likelihood has a linear axis, on
each dataset its own. Of images it is short runs: the one kind of samples that every method has at every moment.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.config import registry
from ebmbench.report.figures.theme import INK, WIDTH, brief_name, colour, line_style, plain_ticks, save
from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import direction, short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.frontiers import drop_frontiers, find_frontiers
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.images import Image

SECTION = "costs"
ORDER = 10

REFERENCES = ("gaussian", "mean_field")  # of points and images, and of binary data
ACROSS = 2  # datasets beside each other
HEIGHT = 3.0  # inches of a panel
NEAR = 1.1  # a ratio of costs that are one moment
LETTER = 0.09  # inches of a letter in the bar of leaders
BAR, BELOW = 0.07, 0.21  # of a panel's height: that of the bar of leaders, and how far its lower edge is below
PAD = 22  # points between ticks and the name of the axis, where the bar is
LIGHT = 1.6  # the sum of red, green and blue from which on a name is better read in ink
KEYS, LETTERS = 5, 84  # of the legend in a line: at most so many keys, and letters
AXES = {"passes": "network passes", "flops": "matrix FLOPs"}


@dataclass(frozen=True)
class Part:
    """The curves of one figure, which share a metric."""

    metric: str
    curves: pd.DataFrame
    file: str

    @property
    def name(self) -> str:
        """How the metric is called."""
        return short_name(self.metric)

    @property
    def datasets(self) -> list[str]:
        """In the order of the suite."""
        return list(dict.fromkeys(self.curves["dataset"]))

    @property
    def scale(self) -> str:
        """Of the metric's axis."""
        return "linear" if _is_signed(self.metric) else "log"

    @property
    def variants(self) -> list[str]:
        """All lines, in the order of the suite."""
        return list(dict.fromkeys(self.curves["variant"]))


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each main metric, of values that its scale can show; data at several budgets have their own."""
    curves = drop_frontiers(results, find_frontiers(results)).curves
    if curves.empty:
        return []
    names = [variant(method, settings) for method, settings in zip(curves["method"], curves["settings"], strict=True)]
    curves = number_moments(curves.assign(variant=names, flops=share_flops(curves, results.frame)))
    signed = curves["metric"].map(_is_signed).astype(bool) & curves["value"].notna()
    known = curves[signed | (curves["value"] > 0)]
    found = []
    for metric, rows in known.groupby("metric", sort=False):
        for by in (by for by in AXES if rows[by].notna().any()):
            part = Part(str(metric), rows[rows[by].notna()], f"cost-{metric}{'' if by == 'passes' else f'-{by}'}.svg")
            found.append(_figure(results.frame, part, by, folder))
    return found


def _figure(frame: pd.DataFrame, part: Part, by: str, folder: Path) -> Image:
    """The curves of all methods on all datasets that share a metric."""
    across, down = min(ACROSS, len(part.datasets)), math.ceil(len(part.datasets) / ACROSS)
    keys = max(1, min(KEYS, LETTERS // (6 + max(len(brief_name(name)) for name in part.variants))))
    figure = Figure(
        figsize=(WIDTH, HEIGHT * down + 0.3 * math.ceil((len(part.variants) + 1) / keys)), layout="constrained"
    )
    axes = figure.subplots(down, across, squeeze=False, sharey=part.scale == "log")
    for axis, dataset in zip(axes.flat, part.datasets, strict=False):
        rows = part.curves[part.curves["dataset"] == dataset]
        medians = {str(name): compute_medians(own) for name, own in rows.groupby("variant", sort=False)}
        _panel(axis, medians, by, part)
        _reference(axis, frame[frame["dataset"] == dataset], part.metric)
        _leader_bar(axis, find_leaders(medians, by, direction(frame, part.metric)), WIDTH / across - 0.8)
        axis.set_title(dataset)
    for axis in axes.flat[len(part.datasets) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel(part.name)
    if part.scale == "log":
        plain_ticks(axes[0, 0].yaxis, *axes[0, 0].get_ylim())  # all panels share it
    figure.legend(handles=_legend(part.variants, frame), loc="outside lower center", ncols=keys, borderaxespad=1.0)
    save(figure, folder / part.file)
    return _image(part, by)


def _is_signed(metric: str) -> bool:
    """Whether values of a metric may have any sign: of a likelihood, and of all else that has no zero to fall to."""
    entry = registry.entries("metrics").get(metric)
    return entry is not None and entry.direction == "higher"


def _panel(axis: Axes, medians: dict[str, pd.DataFrame], by: str, part: Part) -> None:
    for name, points in medians.items():
        style = line_style(name, part.variants)
        axis.plot(points[by], points["median"], linewidth=1.5, markersize=5, **style)
        axis.fill_between(points[by], points["low"], points["high"], color=style["color"], alpha=0.1, linewidth=0)
    axis.set(xscale="log", yscale=part.scale)
    low, high = (end([end(points[by]) for points in medians.values()]) for end in (min, max))
    axis.set_xlim(low / 1.25, high * 1.25)
    axis.set_xlabel(AXES[by], labelpad=PAD)
    plain_ticks(axis.xaxis, *axis.get_xlim())


def find_leaders(medians: dict[str, pd.DataFrame], by: str, better: str = "lower") -> list[tuple[str, float, float]]:
    """Who had the best last median, from which to which compute; where fewer than half were judged, nobody.

    Runs are judged after about as many passes: costs that differ by a little are one moment. A lead lasts from half way
    since the moment before to half way to the next.
    """
    sign = -1 if better == "higher" else 1
    judged = sorted(
        (float(cost), name, sign * float(value))
        for name, points in medians.items()
        for cost, value in zip(points[by], points["median"], strict=True)
    )
    present: dict[str, float] = {}
    moments: list[tuple[float, str]] = []
    for place, (cost, name, value) in enumerate(judged):
        present[name] = value
        whole = place + 1 == len(judged) or judged[place + 1][0] > NEAR * cost
        if whole and 2 * len(present) >= len(medians):
            moments.append((cost, min(present, key=lambda one: present[one])))
    costs = [cost for cost, _ in moments]
    ends = [costs[0], *(math.sqrt(one * other) for one, other in pairwise(costs)), costs[-1]]
    leads: list[tuple[str, float, float]] = []
    for (_, name), (start, end) in zip(moments, pairwise(ends), strict=True):
        if leads and leads[-1][0] == name:
            start = leads.pop()[1]
        leads.append((name, start, end))
    return leads


def _leader_bar(axis: Axes, leaders: list[tuple[str, float, float]], width: float) -> None:
    """Below a panel of this width, in the colour of whoever leads; names stand where there is room."""
    left, right = axis.get_xlim()
    span = math.log(right / left)
    place = axis.get_xaxis_transform()
    for name, start, end in leaders:
        end = max(end, start * (right / left) ** 0.01)
        low = -BELOW
        axis.fill_between([start, end], low, low + BAR, color=colour(name), transform=place, clip_on=False, linewidth=0)
        room = width * math.log(end / start) / span
        if LETTER * len(name) < room:
            shade = "white" if sum(to_rgb(colour(name))) < LIGHT else INK
            middle = math.sqrt(start * end)
            axis.text(middle, low + BAR / 2, name, ha="center", va="center", color=shade, size=8.5, transform=place)


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


def _reference(axis: Axes, rows: pd.DataFrame, metric: str) -> None:
    for name in REFERENCES:
        known = summarise(rows[rows["method"] == name], metric).median
        if known is not None and (known > 0 or axis.get_yscale() == "linear"):
            axis.axhline(known, color=colour(name), linestyle=(0, (4, 3)), linewidth=1.0, zorder=1)


def _legend(variants: list[str], frame: pd.DataFrame) -> list[Line2D]:
    reference = " or ".join(name for name in REFERENCES if name in set(frame["method"]))
    keys = [
        Line2D([], [], markersize=6, linewidth=1.5, label=brief_name(name), **line_style(name, variants))
        for name in variants
    ]
    return [*keys, Line2D([], [], linestyle=(0, (4, 3)), color=colour(REFERENCES[0]), label=reference or REFERENCES[0])]


def _image(part: Part, by: str) -> Image:
    kinds = [kind for kind in dict.fromkeys(part.curves["samples"]) if kind]
    of = f" of {kinds[0]} runs" if kinds else ""
    return Image(
        f"figures/{part.file}",
        f"{part.name} against {AXES[by]} while {', '.join(part.variants)} trained on {', '.join(part.datasets)}.",
        f"{part.name}{of} while training: medians and ranges over the seeds; the bar names the leader at that compute. "
        "Learning rates fall over the whole budget, so a shorter run would end elsewhere.",
        f"{part.name} against {AXES[by]}",
        closed=by != "passes",
    )
