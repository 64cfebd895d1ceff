"""Cost against quality: KL (of images the FID ratio) of each run at the passes, and over the seconds, that its training
took.

A column of two panels for each dataset. The budget is counted in passes and equal for all methods, so passes are no
axis to spread runs over: the upper panel has a place for each method, and says what a pass bought. Seconds, in the
lower one, depend on the machine. A dashed line is what the Gaussian gets, who learns nothing but moments. Images have
a figure of their own; each dataset shows the kind of samples that most methods have.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ebmbench.report.catalogue import method_names
from ebmbench.report.costs import equal
from ebmbench.report.figures.image import Image
from ebmbench.report.groups import RATIO, datasets, is_baseline
from ebmbench.report.kinds import image_sets, kinds, slice_of, toys
from ebmbench.report.statistics import summarise
from ebmbench.report.theme import WIDTH, colour, marker, plain_ticks, save

KEYS = ["dataset", "method", "label"]
REFERENCE = "gaussian"
ACROSS = 4  # datasets beside each other
HEIGHT = 2.5  # inches of a panel
ALONE = 7.0  # inches of the page that one dataset takes
SPREAD = 0.4  # of a method's place, over which its runs are spread


@dataclass(frozen=True)
class Quality:
    """What the figure is of: a metric, how it is named, and where the figure goes."""

    metric: str
    axis: str
    short: str
    article: str
    file: str


KL = Quality("kl", "KL(data‖model)", "KL", "a", "cost.svg")
FID = Quality(RATIO, "FID ratio", "FID ratio", "an", "cost-images.svg")


def costs(frame: pd.DataFrame, folder: Path) -> list[Image]:
    """The figures of a suite: of data in the plane, and of images."""
    plane = toys(frame)
    found = [cost(plane, KL, {dataset: dataset for dataset in datasets(plane)}, folder)] if len(plane) else []
    chosen = {dataset: common_kind(frame, dataset) for dataset in image_sets(frame)}
    parts = [slice_of(frame, dataset, kind) for dataset, kind in chosen.items() if kind]
    titles = {dataset: f"{dataset}, {kind}" for dataset, kind in chosen.items() if kind}
    found += [cost(pd.concat(parts), FID, titles, folder)] if parts else []
    return [image for image in found if image]


def common_kind(frame: pd.DataFrame, dataset: str) -> str:
    """The kind of samples of which most methods have an FID ratio, of equal ones the first; empty if there is none."""
    rows = frame[(frame["dataset"] == dataset) & (frame["metric"] == RATIO) & frame["value"].notna()]
    has = {kind: rows.loc[rows["samples"] == kind, "method"].nunique() for kind in kinds(frame, dataset)}
    return max(has, key=lambda kind: has[kind]) if any(has.values()) else ""


def cost(frame: pd.DataFrame, quality: Quality, titles: dict[str, str], folder: Path) -> Image | None:
    """Draw all runs with a positive value; None if there are none."""
    points = _points(frame, quality.metric)
    if points.empty:
        return None
    methods, sets = method_names(frame), list(titles)
    across, down = min(ACROSS, len(sets)), math.ceil(len(sets) / ACROSS)
    figure = Figure(figsize=(WIDTH if across > 1 else ALONE, 2 * HEIGHT * down + 0.5), layout="constrained")
    axes = figure.subplots(2 * down, across, squeeze=False, sharey=True)
    for dataset, (upper, lower) in zip(sets, _pairs(axes), strict=False):
        part = points[points["dataset"] == dataset]
        _scatter(upper, part.assign(at=_places(part, methods)), methods)
        _scatter(lower, part.assign(at=part["seconds_train"]), methods)
        _reference((upper, lower), frame[frame["dataset"] == dataset], quality.metric)
        _label((upper, lower), titles[dataset], methods, points)
    for upper, lower in list(_pairs(axes))[len(sets) :]:
        upper.set_axis_off()
        lower.set_axis_off()
    for row in axes:
        row[0].set_ylabel(quality.axis)
    plain_ticks(axes[0, 0].yaxis, *axes[0, 0].get_ylim())  # all panels share it
    figure.legend(handles=_legend(methods), loc="outside lower center", ncols=len(methods) + 1)
    save(figure, folder / quality.file)
    return _image(quality, methods, sets, points)


def _image(quality: Quality, methods: list[str], sets: list[str], points: pd.DataFrame) -> Image:
    named = "" if quality is KL else " Each column names its kind of samples; a method without it has no points."
    return Image(
        f"figures/{quality.file}",
        f"{quality.short} of every run at equal passes and against seconds; methods {', '.join(methods)} on "
        f"{', '.join(sets)}",
        f"One point for each run that has {quality.article} {quality.short}, a colour and a marker for each method; "
        f"dashed: the Gaussian baseline.{named} Above: all runs had the same budget, {_budget(points)}. "
        "Below: the seconds that it took on one machine.",
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
    """The passes that all runs of a dataset had, in words: a run may overshoot by one step."""
    medians = points.groupby("dataset", sort=False)["passes"].median()
    if equal(medians.min(), medians.max()):
        return f"about {points['passes'].median() / 1e6:.3g} million network passes"
    each = ", ".join(f"{passes / 1e6:.3g} on {dataset}" for dataset, passes in medians.items())
    return f"about so many million network passes: {each}"


def _points(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One row for each good run that has a `quality`, passes and seconds."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    chosen = good[good["metric"].isin([metric, "passes"])].replace({"metric": {metric: "quality"}})
    wide = chosen.pivot_table(index=[*KEYS, "seconds_train"], columns="metric", values="value", sort=False)
    wide = wide.reset_index().reindex(columns=[*KEYS, "seconds_train", "quality", "passes"]).dropna()
    return wide[(wide["quality"] > 0) & (wide["passes"] > 0) & (wide["seconds_train"] > 0)]


def _scatter(axis: Axes, points: pd.DataFrame, methods: list[str]) -> None:
    for method in methods:
        part = points[points["method"] == method]
        axis.scatter(
            part["at"],
            part["quality"],
            s=44,
            color=colour(method),
            marker=marker(method),
            edgecolor="white",
            linewidth=0.5,
            zorder=3,
        )


def _reference(axes: tuple[Axes, Axes], rows: pd.DataFrame, metric: str) -> None:
    known = summarise(rows[rows["method"] == REFERENCE], metric).median
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
