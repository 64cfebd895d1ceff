"""Cost against quality: KL of each run at the passes, and over the seconds, that its training took.

A column of two panels for each dataset. The budget is counted in passes and equal for all methods, so passes are no
axis to spread runs over: the upper panel has a place for each method, and says what a pass bought. Seconds, in the
lower one, depend on the machine. A dashed line is what the Gaussian gets, who learns nothing but moments.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.report.catalogue import method_names
from ebmbench.report.figures.image import Image
from ebmbench.report.groups import datasets, is_baseline
from ebmbench.report.statistics import summarise
from ebmbench.report.theme import WIDTH, colour, marker, plain_ticks, save

KEYS = ["dataset", "method", "label"]
REFERENCE = "gaussian"
ACROSS = 4  # datasets beside each other
HEIGHT = 2.5  # inches of a panel
SPREAD = 0.4  # of a method's place, over which its runs are spread


def cost(frame: pd.DataFrame, folder: Path) -> Image | None:
    """Draw all runs with a positive KL; None if there are none."""
    points = _points(frame)
    if points.empty:
        return None
    methods, sets = method_names(frame), datasets(frame)
    across, down = min(ACROSS, len(sets)), math.ceil(len(sets) / ACROSS)
    figure = Figure(figsize=(WIDTH, 2 * HEIGHT * down + 0.5), layout="constrained")
    axes = figure.subplots(2 * down, across, squeeze=False, sharey=True)
    for dataset, (upper, lower) in zip(sets, _pairs(axes), strict=False):
        part = points[points["dataset"] == dataset]
        _scatter(upper, part.assign(at=_places(part, methods)), methods)
        _scatter(lower, part.assign(at=part["seconds_train"]), methods)
        _reference((upper, lower), frame[frame["dataset"] == dataset])
        _label((upper, lower), dataset, methods, points)
    for upper, lower in list(_pairs(axes))[len(sets) :]:
        upper.set_axis_off()
        lower.set_axis_off()
    for row in axes:
        row[0].set_ylabel("KL(data‖model)")
    plain_ticks(axes[0, 0].yaxis, *axes[0, 0].get_ylim())  # all panels share it
    figure.legend(handles=_legend(methods), loc="outside lower center", ncols=len(methods) + 1)
    save(figure, folder / "cost.svg")
    return Image(
        "figures/cost.svg",
        f"KL of every run at equal passes and against seconds; methods {', '.join(methods)} on {', '.join(sets)}",
        "One point for each run that has a KL, a colour and a marker for each method; dashed: the Gaussian baseline. "
        f"Above: all runs had the same budget, {_budget(points)} network passes. Below: the seconds that it took on "
        "one machine.",
    )


def _pairs(axes: np.ndarray) -> Iterator[tuple[Axes, Axes]]:
    """The upper and the lower panel of each dataset's column, row by row of pairs."""
    for row in range(0, len(axes), 2):
        yield from zip(axes[row], axes[row + 1], strict=True)


def _places(points: pd.DataFrame, methods: list[str]) -> np.ndarray:
    """Where a run stands in the upper panel: at its method's place, the runs side by side."""
    runs = points.groupby("method")
    rank, size = runs.cumcount().to_numpy(), runs["label"].transform("size").to_numpy()
    aside = SPREAD * (rank / np.maximum(size - 1, 1) - 0.5) * (size > 1)
    return points["method"].map(methods.index).to_numpy(dtype=float) + aside


def _budget(points: pd.DataFrame) -> str:
    """The passes that all runs had, in words: a run may overshoot by one step."""
    return f"about {points['passes'].median() / 1e6:.3g} million"


def _points(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each good run that has KL, passes and seconds."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    chosen = good[good["metric"].isin(["kl", "passes"])]
    wide = chosen.pivot_table(index=[*KEYS, "seconds_train"], columns="metric", values="value", sort=False)
    wide = wide.reset_index().reindex(columns=[*KEYS, "seconds_train", "kl", "passes"]).dropna()
    return wide[(wide["kl"] > 0) & (wide["passes"] > 0) & (wide["seconds_train"] > 0)]


def _scatter(axis: Axes, points: pd.DataFrame, methods: list[str]) -> None:
    for method in methods:
        part = points[points["method"] == method]
        axis.scatter(
            part["at"],
            part["kl"],
            s=44,
            color=colour(method),
            marker=marker(method),
            edgecolor="white",
            linewidth=0.5,
            zorder=3,
        )


def _reference(axes: tuple[Axes, Axes], rows: pd.DataFrame) -> None:
    known = summarise(rows[rows["method"] == REFERENCE], "kl").median
    if known is None or known <= 0:
        return
    for axis in axes:
        axis.axhline(known, color=colour(REFERENCE), linestyle="--", linewidth=1.0)


def _label(axes: tuple[Axes, Axes], dataset: str, methods: list[str], points: pd.DataFrame) -> None:
    """Scales and ticks, the same for all datasets."""
    upper, lower = axes
    upper.set_title(dataset)
    upper.set(yscale="log", xlim=(-0.6, len(methods) - 0.4))
    upper.set_xticks(range(len(methods)), methods, rotation=40, ha="right", rotation_mode="anchor")
    lower.set(xscale="log", yscale="log", xlabel="seconds of training")
    lower.set(xlim=(points["seconds_train"].min() / 1.5, points["seconds_train"].max() * 1.5))
    plain_ticks(lower.xaxis, *lower.get_xlim())


def _legend(methods: list[str]) -> list[Line2D]:
    keys = [
        Line2D([], [], linestyle="", marker=marker(name), color=colour(name), markersize=6, label=name)
        for name in methods
    ]
    return [*keys, Line2D([], [], linestyle="--", color=colour(REFERENCE), label=REFERENCE)]
