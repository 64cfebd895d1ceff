"""The main metric against a swept setting, beside what was published of it.

A number on the axis is a number: values of a numeric setting are joined by lines. All other values stand side by side.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ebmbench.report.figures.theme import INK, WIDTH, colour, save
from ebmbench.report.results.groups import short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.statistics.sweeps import Sweep, find_sweeps, numbers_of
from ebmbench.report.text.images import Image

SECTION = "sweep"
ORDER = 10
# A colour belongs to a method: kinds of samples differ by line and marker.
LINES = {"": ("-", "o"), "buffer": ("-", "o"), "short": ("--", "s"), "long": (":", "^"), "data": ("-.", "D")}
HEIGHT = 3.0  # inches of a panel
ACROSS = 4
LONGEST = 24  # letters of all values that fit below a panel, side by side
FEWEST = 3  # panels that the page is divided by, or a single dataset would fill it


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each method and setting that was swept."""
    return [_figure(method, setting, found, folder) for (method, setting), found in find_sweeps(results).items()]


def _figure(method: str, setting: str, found: list[Sweep], folder: Path) -> Image:
    sets = list(dict.fromkeys(one.dataset for one in found))
    published = found[0].published
    count = len(sets) + bool(published)
    across, down = min(ACROSS, count), math.ceil(count / ACROSS)
    figure = Figure(figsize=(WIDTH * min(1.0, across / FEWEST), HEIGHT * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for axis, dataset in zip(axes, sets, strict=False):
        own = [one for one in found if one.dataset == dataset]
        _panel(axis, own)
        axis.set_ylabel(short_name(own[0].main))
    if published:
        _published_panel(axes[len(sets)], setting, published)
    for axis in axes[count:]:
        axis.set_axis_off()
    file = f"sweep-{method}-{setting.replace(', ', '-')}.svg"
    save(figure, folder / file)
    return _image(method, setting, found, file)


def _panel(axis: Axes, found: list[Sweep]) -> None:
    """One dataset, with a line for each kind of samples."""
    values = list(dict.fromkeys(value for one in found for value in one.runs))
    at = dict(zip(values, _scale(axis, found[0].setting, values), strict=True))
    for place, one in enumerate(found):
        known = {value: summary for value, rows in one.runs.items() if (summary := summarise(rows, one.main)).values}
        line, marker = LINES[one.kind]
        # Kinds stand side by side, or their intervals would hide each other.
        aside = place - (len(found) - 1) / 2
        x = np.array([at[value] for value in known])
        axis.errorbar(
            x * 1.05**aside if axis.get_xscale() == "log" else x + 0.02 * aside * np.ptp(list(at.values())),
            [summary.mean or 0.0 for summary in known.values()],
            [summary.half or 0.0 for summary in known.values()],
            linestyle=line if numbers_of(values) else "",
            marker=marker,
            color=colour(one.method),
            linewidth=1.2,
            markersize=4.5,
            capsize=2.5,
            label=one.kind,
        )
    _from_zero(axis)
    axis.set_title(found[0].dataset)
    if found[0].kind:
        axis.legend(title="samples", loc="best")


def _published_panel(axis: Axes, setting: str, published: dict[str, Any]) -> None:
    """The first published metric as a line; the others are written at its points."""
    (metric, known), *others = published["values"].items()
    x = _scale(axis, setting, [str(value) for value in known])
    axis.plot(x, list(known.values()), "o-", color=INK, linewidth=1.2, markersize=4.5)
    for place, (value, one) in zip(x, known.items(), strict=True):
        beside = ", ".join(f"{short_name(name)} {more[value]:.2f}" for name, more in others)
        # On the side where the line does not go.
        aside, side = ((-6, 1), "right") if place == x[-1] else ((3, -11), "left")
        axis.annotate(beside, (place, one), aside, textcoords="offset points", ha=side, fontsize=7.5)
    _from_zero(axis)
    axis.set(title=f"published: {published['source']}", ylabel=short_name(metric))


def _scale(axis: Axes, setting: str, values: list[str]) -> list[float]:
    """The places of the values: of numbers on a scale (logarithmic if all are positive), of others side by side."""
    places = numbers_of(values) or list(map(float, range(len(values))))
    if numbers_of(values) and min(places) > 0:
        axis.set(xscale="log", xlim=(min(places) / 1.4, max(places) * 1.4))
    else:
        room = 0.1 * (max(places) - min(places)) if numbers_of(values) else 0.5
        axis.set_xlim(min(places) - room, max(places) + room)
    axis.set_xlabel(setting)
    if not numbers_of(values) and sum(map(len, values)) > LONGEST:
        values = [", ".join(part.rpartition("=")[2] for part in value.split(", ")) for value in values]
        axis.tick_params(axis="x", labelrotation=90)
    labels = dict(zip(places, values, strict=True))
    axis.xaxis.set_major_locator(FixedLocator(places))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: labels.get(place, "")))
    axis.xaxis.set_minor_locator(NullLocator())
    return places


def _from_zero(axis: Axes) -> None:
    """Values from zero on, unless some are negative."""
    low, high = axis.get_ylim()
    axis.set_ylim(0 if axis.dataLim.y0 >= 0 else low, 1.12 * high if high > 0 else high)


def _image(method: str, setting: str, found: list[Sweep], file: str) -> Image:
    sets = ", ".join(dict.fromkeys(one.dataset for one in found))
    metric = " and ".join(dict.fromkeys(short_name(one.main) for one in found))
    published, kinds = found[0].published, ", a line for each kind of samples" * bool(found[0].kind)
    beside = f", beside the numbers of {published['source']}" if published else ""
    right = f" Published numbers ({published['source']}) have a panel with another scale." if published else ""
    return Image(
        f"figures/{file}",
        f"{metric} of {method} against {setting} on {sets}{beside}",
        f"{metric} of `{method}` against `{setting}`: means over the seeds with 95 % intervals{kinds}.{right}",
        f"{method}: {setting}",
    )
