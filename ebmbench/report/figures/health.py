"""Training health: loss, gradient norm and the method's own diagnostic against the passes spent, a line for
each seed.

Losses of different methods mean different things, so each method has its own row and scale. A run that
diverged ends in a cross. A long history is thinned to every k-th row: the lines show tendencies,
`history.csv` has all the values.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from ebmbench.report.figures.image import Image
from ebmbench.report.groups import is_baseline, variants
from ebmbench.report.theme import INK, WIDTH, colour, plain_ticks, save

COMMON = ("label", "step", "passes", "loss", "gradient_norm", "learning_rate")
POINTS = 150


def health(root: Path, frame: pd.DataFrame, dataset: str, folder: Path) -> Image | None:
    """Draw the histories of a dataset's methods; None if there are none."""
    found = {name: _history(root, rows) for name, rows in variants(frame, dataset).items() if not is_baseline(name)}
    found = {name: history for name, history in found.items() if len(history)}
    if not found:
        return None
    ended = _diverged(frame, dataset)
    figure = Figure(figsize=(WIDTH, 1.55 * len(found) + 0.3), layout="constrained")
    axes = figure.subplots(len(found), 3, squeeze=False, sharex=True)
    for row, (name, history) in zip(axes, found.items(), strict=True):
        _row(list(row), name, history, ended)
    for column in axes.T:
        _label_passes([axis for axis in column if axis.axison])
    save(figure, folder / f"health-{dataset}.svg")
    return Image(
        f"figures/health-{dataset}.svg",
        f"Loss, gradient norm and own diagnostic of {', '.join(found)} on {dataset} against network passes",
        f"`{dataset}`: a thin line for each seed; a cross marks where a run diverged.",
    )


def _label_passes(column: list[Axes]) -> None:
    """Passes below the last panel of a column; the last row may have none there."""
    for axis in column[-1:]:
        axis.set_xlabel("network passes")
        axis.tick_params(labelbottom=True)
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_major_locator(MaxNLocator(5))


def _row(axes: list[Axes], name: str, history: pd.DataFrame, ended: set[tuple[str, str]]) -> None:
    """The three panels of one method; the third is its first own column, if it has any."""
    own = [column for column in history.columns if column not in COMMON and history[column].notna().any()]
    shown = ["loss", "gradient_norm", *own[:1]]
    for axis, column in zip(axes, shown, strict=False):
        if column not in history:  # nothing but the first rows of runs that diverged at once
            continue
        _scale(axis, history[column], log=column.endswith("gradient_norm"))
        for label, run in history.groupby("label", sort=False):
            _line(axis, run, column, name, (name.split(" ")[0], str(label)) in ended)
        axis.set_ylabel(column.replace("_", " "))
    if not own:
        axes[2].set_axis_off()
    axes[0].set_title(name, loc="left", fontweight="bold", color=INK)


def _line(axis: Axes, run: pd.DataFrame, column: str, name: str, diverged: bool) -> None:
    run = run[np.isfinite(run[column])]
    if not len(run):
        return
    thin = run.iloc[:: max(1, len(run) // POINTS)]
    axis.plot(thin["passes"], thin[column], color=colour(name), linewidth=0.7, alpha=0.8)
    if diverged:
        low, high = axis.get_ylim()
        last = min(max(float(run[column].iloc[-1]), low), high)
        axis.plot([float(run["passes"].iloc[-1])], [last], "x", color=INK, markersize=5, clip_on=False)


def _scale(axis: Axes, values: pd.Series, log: bool) -> None:
    """Show the bulk: one exploding run must not flatten the others."""
    finite = values[np.isfinite(values)].to_numpy(dtype=float)
    finite = finite[finite > 0] if log else finite
    if not len(finite):
        return
    bulk = [0.005, 0.98] if len(finite) > POINTS else [0.0, 1.0]
    low, high = (float(value) for value in np.quantile(finite, bulk))
    if log:
        axis.set(yscale="log", ylim=(low / 1.5, high * 1.5))
        plain_ticks(axis.yaxis, low / 1.5, high * 1.5)
    else:
        margin = 0.1 * (high - low) or 0.1 * abs(high) or 0.1
        axis.set_ylim(low - margin, high + margin)
        axis.yaxis.set_major_locator(MaxNLocator(4))


def _history(root: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """The history of one method's runs with these settings."""
    suite, dataset, method = (str(rows[column].iloc[0]) for column in ("suite", "dataset", "method"))
    file = root / "runs" / suite / dataset / method / "history.csv"
    if not file.is_file():
        return pd.DataFrame()
    history = pd.read_csv(file, dtype={"label": str})
    return history[history["label"].isin(set(rows["label"]))]


def _diverged(frame: pd.DataFrame, dataset: str) -> set[tuple[str, str]]:
    rows = frame[(frame["dataset"] == dataset) & (frame["status"] == "diverged")]
    return set(zip(rows["method"], rows["label"], strict=True))
