"""FID ratio of self-adapting NCE against the interval K of its renewals, beside the published FID of the thesis."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ebmbench.report.figures.image import Image
from ebmbench.report.figures.theme import INK, WIDTH, colour, save
from ebmbench.report.results.groups import RATIO
from ebmbench.report.sections import sweep as published
from ebmbench.report.sections.sweep import METHOD, Runs, sweeps
from ebmbench.report.statistics.seeds import summarise

# A colour belongs to a method: kinds of samples differ by line and marker.
LINES = {"buffer": ("-", "o"), "short": ("--", "s"), "long": (":", "^"), "data": ("-.", "D")}
HEIGHT = 3.0  # inches
FEWEST = 3  # panels that the page is divided by, or a single dataset would fill it


def sweep(frame: pd.DataFrame, folder: Path) -> Image | None:
    """Draw all sweeps of a suite; None if there are none."""
    found = sweeps(frame)
    if not found:
        return None
    sets = list(dict.fromkeys(dataset for dataset, _ in found))
    panels = len(sets) + 1
    figure = Figure(figsize=(WIDTH * min(1.0, panels / FEWEST), HEIGHT), layout="constrained")
    *ours, theirs = figure.subplots(1, panels, squeeze=False)[0]
    for axis, dataset in zip(ours, sets, strict=True):
        _ours(axis, dataset, {kind: runs for (of, kind), runs in found.items() if of == dataset})
    ours[0].set_ylabel("FID ratio")
    _published(theirs)
    save(figure, folder / "sweep.svg")
    return Image(
        "figures/sweep.svg",
        f"FID ratio of adance against its interval on {', '.join(sets)}, beside the published FID on CIFAR-10",
        "FID ratio against the interval K: means over the seeds with 95 % intervals, a line for each kind of samples. "
        "On the right the published FID on CIFAR-10, with the inception score at each point: another scale.",
    )


def _ours(axis: Axes, dataset: str, by_kind: dict[str, Runs]) -> None:
    intervals = sorted({k for runs in by_kind.values() for k in runs})
    for place, (kind, runs) in enumerate(by_kind.items()):
        known = {k: one for k, part in runs.items() if (one := summarise(part, RATIO)).mean is not None}
        # Kinds stand side by side, or their intervals would hide each other.
        at = np.array(list(known)) * 1.05 ** (place - (len(by_kind) - 1) / 2)
        halves = [one.half or 0.0 for one in known.values()]
        line, marker = LINES[kind]
        axis.errorbar(
            at,
            [one.mean or 0.0 for one in known.values()],
            halves,
            linestyle=line,
            marker=marker,
            color=colour(METHOD),
            linewidth=1.2,
            markersize=4.5,
            capsize=2.5,
            label=kind,
        )
    _scale(axis, intervals, dataset)
    axis.legend(title="samples", loc="best")


def _published(axis: Axes) -> None:
    axis.plot(list(published.FID), list(published.FID.values()), "o-", color=INK, linewidth=1.2, markersize=4.5)
    for k, value in published.FID.items():
        score = f"IS {published.INCEPTION_SCORE[k]:.2f}"
        # Beside the point, on the side where the line does not go.
        last = k == max(published.FID)
        aside, side = ((-6, 1), "right") if last else ((3, -11), "left")
        axis.annotate(score, (k, value), aside, textcoords="offset points", ha=side, fontsize=7.5)
    _scale(axis, list(published.FID), f"published: {published.SOURCE}")
    axis.set_ylabel("FID (Inception-v3)")


def _scale(axis: Axes, intervals: list[int], title: str) -> None:
    """K on a logarithmic axis, with a tick at each that was run, and values from zero."""
    axis.set(xscale="log", xlabel="interval K", title=title)
    axis.set_xlim(min(intervals) / 1.4, max(intervals) * 1.4)
    axis.set_ylim(0, 1.12 * axis.get_ylim()[1])
    axis.xaxis.set_major_locator(FixedLocator(intervals))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
