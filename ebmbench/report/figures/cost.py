"""Cost against quality: KL of each run at the passes, and over the seconds, that its training took.

The budget is counted in passes and equal for all methods, so passes are no axis to spread runs over: the left
panel has a column for each method, and says what a pass bought. Seconds depend on the machine.
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
COLUMN = 0.6  # the width of a method's column in the left panel, over which its datasets are spread


def cost(frame: pd.DataFrame, folder: Path) -> Image | None:
    """Draw all runs with a positive KL; None if there are none."""
    points = _points(frame)
    if points.empty:
        return None
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    methods, sets = list(dict.fromkeys(points["method"])), datasets(points)
    _scatter(axes[0], points.assign(at=_columns(points, methods, sets)), sets)
    _scatter(axes[1], points.assign(at=points["seconds_train"]), sets)
    axes[0].set(
        xlabel=f"{_budget(points)} network passes each", ylabel="KL(data‖model)", xlim=(-0.6, len(methods) - 0.4)
    )
    axes[0].set_xticks(range(len(methods)), methods)
    axes[1].set(xlabel="seconds of training", xscale="log")
    axes[1].set(xlim=(points["seconds_train"].min() / 2, points["seconds_train"].max() * 2))
    plain_ticks(axes[1].xaxis, *axes[1].get_xlim())
    figure.legend(handles=_legend(methods, sets), loc="outside right upper")
    save(figure, folder / "cost.svg")
    return Image(
        "figures/cost.svg",
        f"KL of every run at equal passes and against seconds; methods {', '.join(methods)} on {', '.join(sets)}",
        "One point for each run: colour for the method, marker for the dataset. Left: all runs had the same "
        "budget of network passes. Right: the seconds that it took on one machine.",
    )


def _columns(points: pd.DataFrame, methods: list[str], sets: list[str]) -> np.ndarray:
    """Where a run stands in the left panel: its method's column, and there its dataset's place."""
    places = np.linspace(-COLUMN / 2, COLUMN / 2, len(sets)) if len(sets) > 1 else np.zeros(1)
    columns = points["method"].map(methods.index).to_numpy(dtype=float)
    return columns + places[points["dataset"].map(sets.index).to_numpy(dtype=int)]


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
    axis.set(yscale="log")
    plain_ticks(axis.yaxis, *axis.get_ylim())


def _legend(methods: list[str], sets: list[str]) -> list[Line2D]:
    """Methods by colour, then datasets by marker."""
    colours = [_key("o", colour(name), name) for name in methods]
    shapes = [_key(MARKERS[place % len(MARKERS)], INK, name) for place, name in enumerate(sets)]
    return [*colours, _key("", INK, " "), *shapes]


def _key(marker: str, ink: str, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color=ink, markersize=6.5, label=label)
