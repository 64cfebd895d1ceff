"""Quality against compute: what each method reaches at each budget, by passes, FLOPs and seconds, and the frontier.

A row for each source of data. Points are medians of the seeds at the ends of runs, bands their ranges. The grey line is
the frontier: the best median that any method reached at no more than this cost. Methods whose median is infinite, for
want of values, stand at the upper edge as hollow markers.
"""

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ebmbench.report.figures.profile import draw_profile
from ebmbench.report.figures.theme import FAINT, WIDTH, brief_name, line_style, plain_ticks, save
from ebmbench.report.results.groups import short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.sections.frontier import AGAINST, PROFILE, find_chosen_contests, format_budget
from ebmbench.report.statistics.frontiers import Frontier, Point, find_frontiers
from ebmbench.report.statistics.profiles import find_profile
from ebmbench.report.text.images import Image

SECTION = "frontier"
ORDER = 10

HEIGHT, KEYS = 2.4, 6  # inches of a row, and keys in a line of the legend
COSTS = {"passes": "network passes", "flops": "matrix FLOPs", "seconds": "seconds of training"}
STACK = 0.07  # of a panel's height, between the markers of methods without a median
WIDE = 30.0  # a range of costs with ticks at powers of ten alone
CAPTION = (
    "Medians and ranges of the seeds at the end of runs, each budget with runs of its own. Grey: the frontier, the "
    "best median at no more than this cost. Hollow markers at the upper edge: no finite median. Seconds depend on the "
    "machine."
)


def draw(results: Results, folder: Path) -> list[Image]:
    """Quality against three costs, and the performance profile over all datasets and budgets."""
    frontiers = find_frontiers(results)
    if not frontiers:
        return []
    images = [_figure(frontiers, folder / "frontier.svg")]
    if profile := find_profile(results, find_chosen_contests(results)):
        what = " and ".join(dict.fromkeys(short_name(one.metric) for one in frontiers))
        images.append(draw_profile(profile, folder / "frontier-profile.svg", what, "datasets and budgets", PROFILE))
    return images


def _figure(frontiers: list[Frontier], file: Path) -> Image:
    names = list(dict.fromkeys(name for one in frontiers for name in one.points))
    lines = -(-(len(names) + 1) // KEYS)
    figure = Figure(figsize=(WIDTH, HEIGHT * len(frontiers) + 0.25 * lines), layout="constrained")
    axes = figure.subplots(len(frontiers), len(COSTS), squeeze=False, sharey="row")
    for row, one in zip(axes, frontiers, strict=True):
        for axis, by in zip(row, COSTS, strict=True):
            _panel(axis, one, by, names)
        row[0].set_ylabel(short_name(one.metric))
        row[1].set_title(one.name)
        if not _is_score(one) and any(
            math.isfinite(point.median) for points in one.points.values() for point in points.values()
        ):
            row[0].set_yscale("log")
            plain_ticks(row[0].yaxis, *row[0].get_ylim())
    keys = [Line2D([], [], label=brief_name(name), markersize=6, **line_style(name, names)) for name in names]
    keys.append(Line2D([], [], label="frontier", color=FAINT, linewidth=5))
    figure.legend(handles=keys, loc="outside lower center", ncols=min(KEYS, len(keys)))
    save(figure, file)
    alt = f"{' and '.join(dict.fromkeys(short_name(one.metric) for one in frontiers))} of {', '.join(names)} against "
    return Image(f"figures/{file.name}", f"{alt}passes, FLOPs and seconds at several budgets.", CAPTION, AGAINST)


def _cost(budget: int, point: Point, by: str) -> float:
    return {"passes": float(budget), "flops": point.flops, "seconds": point.seconds}[by]


def _panel(axis: Axes, one: Frontier, by: str, names: list[str]) -> None:
    reached, lost = [], 0
    for name, points in one.points.items():
        style = line_style(name, names)
        known = [(_cost(budget, point, by), point) for budget, point in points.items()]
        whole = [(cost, point) for cost, point in known if math.isfinite(cost) and math.isfinite(point.median)]
        reached += [(cost, point.median, point) for cost, point in whole]
        x = [cost for cost, _ in whole]
        axis.plot(x, [point.median for _, point in whole], linewidth=1.3, markersize=4.5, **style)
        low, high = ([end(point.summary.values.values()) for _, point in whole] for end in (min, max))
        axis.fill_between(x, low, high, color=style["color"], alpha=0.12, linewidth=0)
        for cost in (cost for cost, point in known if math.isfinite(cost) and math.isinf(point.median)):
            at = {"transform": axis.get_xaxis_transform(), "clip_on": False, "linestyle": ""}
            axis.plot(cost, 1 - STACK * lost, **style | at | {"fillstyle": "none"}, markersize=5)
        lost += any(math.isinf(point.median) for point in points.values())
    axis.set(xscale="log" if reached else "linear", xlabel=COSTS[by])
    if reached:
        axis.plot(*_envelope(one, [pair[:2] for pair in reached]), color=FAINT, linewidth=5, alpha=0.7, zorder=1)
    _ticks(axis, one, by)


def _ticks(axis: Axes, one: Frontier, by: str) -> None:
    low, high = axis.get_xlim()
    if by != "passes":
        if axis.get_xscale() == "log":
            plain_ticks(axis.xaxis, low, high if high < WIDE * low else 1e3 * low)
        return
    labels = {float(budget): format_budget(budget) for budget in one.datasets}
    axis.xaxis.set_major_locator(FixedLocator(list(labels)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: labels.get(place, "")))
    axis.xaxis.set_minor_locator(NullLocator())


def _is_score(one: Frontier) -> bool:
    return any(point.summary.direction == "higher" for points in one.points.values() for point in points.values())


def _envelope(one: Frontier, reached: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """The corners of the frontier: it falls where a method is better than all that cost less."""
    better = max if _is_score(one) else min
    x: list[float] = []
    y: list[float] = []
    for cost, value in sorted(reached):
        best = better(value, y[-1]) if y else value
        x += [cost, cost] if y else [cost]
        y += [y[-1], best] if y else [best]
    return x, y
