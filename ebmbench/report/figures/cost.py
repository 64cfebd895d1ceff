"""Cost against quality: KL of each run over the passes and the seconds it took, both on logarithmic scales.

The budget is counted in passes and equal for all methods, so the points of the left panel stand nearly in one
column; each method is shifted a little sideways, or they would hide each other.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.report.figures.image import Image
from ebmbench.report.groups import datasets, is_baseline
from ebmbench.report.theme import INK, MARKERS, WIDTH, colour, plain_ticks, save

KEYS = ["dataset", "method", "label"]
SHIFT = 0.12  # decades from the first method to the last in the left panel


def cost(frame: pd.DataFrame, folder: Path) -> Image | None:
    """Draw all runs with a positive KL; None if there are none."""
    points = _points(frame)
    if points.empty:
        return None
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    methods, sets = list(dict.fromkeys(points["method"])), datasets(points)
    places = np.linspace(-SHIFT / 2, SHIFT / 2, len(methods)) if len(methods) > 1 else np.zeros(1)
    shift = dict(zip(methods, 10**places, strict=True))
    _scatter(axes[0], points.assign(at=points["passes"] * points["method"].map(shift)), sets)
    _scatter(axes[1], points.assign(at=points["seconds_train"]), sets)
    axes[0].set(xlabel="network passes of training", ylabel="KL(data‖model)")
    axes[1].set(xlabel="seconds of training")
    figure.legend(handles=_legend(methods, sets), loc="outside right upper")
    save(figure, folder / "cost.svg")
    return Image(
        "figures/cost.svg",
        f"KL of every run against passes and seconds; methods {', '.join(methods)} on {', '.join(sets)}",
        "One point for each run: colour for the method, marker for the dataset. In the left panel the "
        "methods are shifted a little sideways so that they do not hide each other.",
    )


def _points(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each good run that has KL, passes and seconds."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    chosen = good[good["metric"].isin(["kl", "passes"])]
    wide = chosen.pivot_table(index=[*KEYS, "seconds_train"], columns="metric", values="value", sort=False)
    wide = wide.reset_index().reindex(columns=[*KEYS, "seconds_train", "kl", "passes"]).dropna()
    return wide[(wide["kl"] > 0) & (wide["passes"] > 0) & (wide["seconds_train"] > 0)]


def _scatter(axis: Axes, points: pd.DataFrame, sets: list[str]) -> None:
    for (dataset, method), part in points.groupby(["dataset", "method"], sort=False):
        marker = MARKERS[sets.index(str(dataset)) % len(MARKERS)]
        axis.scatter(
            part["at"],
            part["kl"],
            s=42,
            color=colour(str(method)),
            marker=marker,
            edgecolor="white",
            linewidth=0.6,
        )
    axis.set(xscale="log", yscale="log", xlim=(points["at"].min() / 2, points["at"].max() * 2))
    plain_ticks(axis.xaxis, *axis.get_xlim())
    plain_ticks(axis.yaxis, *axis.get_ylim())


def _legend(methods: list[str], sets: list[str]) -> list[Line2D]:
    """Methods by colour, then datasets by marker."""
    colours = [_key("o", colour(name), name) for name in methods]
    shapes = [_key(MARKERS[place % len(MARKERS)], INK, name) for place, name in enumerate(sets)]
    return [*colours, _key("", INK, " "), *shapes]


def _key(marker: str, ink: str, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color=ink, markersize=6.5, label=label)
