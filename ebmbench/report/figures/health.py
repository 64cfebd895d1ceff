"""Histories of training: loss, gradient norms of weights and along chains, and energy gap, a line for each seed.

Losses of different methods mean different things, so each method has its own row and scale, logarithmic where
positive values span decades. A run that diverged ends in a cross. A long history is thinned to every k-th row: the
lines show tendencies, `history.csv` has all the values.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from ebmbench.report.figures.theme import INK, WIDTH, colour, plain_ticks, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image
from ebmbench.workspace.layout import cell_folder

SECTION = "training"
ORDER = 10

COMMON = ("label", "step", "passes", "loss", "gradient_norm", "learning_rate")
# The third panel shows the gap between the energies of negatives and of data (a gap that grows says that chains do not
# find the model's mass), or a learned constant, or else the first column of a method's own; the fourth how steep the
# energy is along the chains (Xu 2022, 3.2.2).
DIAGNOSTICS = ("energy_gap", "c", "max_abs_log_g", "chain_acceptance")
CHAINS = "chain_gradient_norm"
NAMES = {"max_abs_log_g": "max |log g|", "c": "c (log Z)", "gradient_norm": "‖∇θ L‖", CHAINS: "‖∇x E‖ on chains"}
POINTS = 220  # of all lines of a panel: eight rows with five seeds stay below 300 kB
ROWS = 8  # of a figure; more methods have more figures
FEW = 150  # values, of which none is set aside as an outlier
DECADES = 100.0  # a larger ratio of the bulk's ends is shown on a logarithmic scale
# Inches: fixed, so that the rows of all methods are alike and an empty last panel leaves no gap in its column.
LEFT, RIGHT, TOP, BOTTOM, ROW, GAP, ASIDE = 0.7, 0.12, 0.3, 0.5, 1.1, 0.36, 0.72


def draw(results: Results, folder: Path) -> list[Image]:
    """The histories of each dataset's methods, in several figures if the methods are many."""
    return [image for dataset in results.datasets for image in draw_dataset(results, dataset, folder)]


def draw_dataset(results: Results, dataset: str, folder: Path) -> list[Image]:
    """The figures of one dataset; none if there are no histories."""
    methods = {name: rows for name, rows in variants(results.frame, dataset).items() if not is_baseline(name)}
    known = [(name, found) for name, rows in methods.items() if len(found := _history(results.root, rows))]
    ended = _diverged(results.frame, dataset)
    figures = math.ceil(len(known) / ROWS)
    rows = math.ceil(len(known) / max(1, figures))
    parts = [dict(known[place * rows : (place + 1) * rows]) for place in range(figures)]
    stems = [f"health-{dataset}{f'-{place + 1}' if place else ''}" for place in range(figures)]
    return [_figure(part, dataset, ended, folder / f"{stem}.svg") for part, stem in zip(parts, stems, strict=True)]


def _figure(found: dict[str, pd.DataFrame], dataset: str, ended: set[tuple[str, str]], file: Path) -> Image:
    figure, axes = _panels(len(found))
    for row, (name, history) in zip(axes, found.items(), strict=True):
        _row(list(row), name, history, ended)
    for column in axes.T:
        _label_passes([axis for axis in column if axis.axison])
    figure.align_ylabels(axes)
    save(figure, file)
    return Image(
        f"figures/{file.name}",
        f"Loss, gradient norms and energy gap of {', '.join(found)} on {dataset} against network passes",
        f"`{dataset}`: a thin line for each seed; a cross marks where a run diverged. Loss; norm of its gradient with "
        "respect to the weights; what the method says of itself (the gap between the mean energies of negatives and of "
        "data, or a learned constant); norm of the energy's gradient along the sampling chains, if there are any.",
    )


def _panels(rows: int) -> tuple[Figure, np.ndarray]:
    """Four panels a row, on one axis of passes."""
    height = TOP + rows * ROW + (rows - 1) * GAP + BOTTOM
    panel = (WIDTH - LEFT - RIGHT - 3 * ASIDE) / 4
    edges = {"left": LEFT / WIDTH, "right": 1 - RIGHT / WIDTH, "top": 1 - TOP / height, "bottom": BOTTOM / height}
    figure = Figure(figsize=(WIDTH, height))
    space = edges | {"hspace": GAP / ROW, "wspace": ASIDE / panel}
    return figure, figure.subplots(rows, 4, squeeze=False, sharex=True, gridspec_kw=space)


def _label_passes(column: list[Axes]) -> None:
    """Passes below the last panel of a column; the last row may have none there."""
    for axis in column[-1:]:
        axis.set_xlabel("network passes")
        axis.tick_params(labelbottom=True)
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_major_locator(MaxNLocator(5))


def _row(axes: list[Axes], name: str, history: pd.DataFrame, ended: set[tuple[str, str]]) -> None:
    """The panels of one method; what it does not write leaves its place empty."""
    own = choose_diagnostic(history)
    shown = ["loss", "gradient_norm", own, CHAINS]
    for axis, column in zip(axes, shown, strict=True):
        if column not in history or not history[column].notna().any():
            axis.set_axis_off()
            continue
        _scale(axis, history[column], log=column.endswith("gradient_norm"))
        stride = math.ceil(len(history) / POINTS)
        for label, run in history.groupby("label", sort=False):
            _line(axis, run.iloc[::stride], column, name)
            if (name.split(" ")[0], str(label)) in ended:
                _cross(axis, run, column)
        axis.set_ylabel(NAMES.get(column, column.replace("_", " ")))
    axes[0].set_title(name, loc="left", fontweight="bold", color=INK)


def choose_diagnostic(history: pd.DataFrame) -> str:
    """The column that says most about how training goes; empty if the method writes none of its own."""
    hidden = (*COMMON, CHAINS)
    own = [column for column in history.columns if column not in hidden and history[column].notna().any()]
    return next((column for column in (*DIAGNOSTICS, *own) if column in own), "")


def _line(axis: Axes, run: pd.DataFrame, column: str, name: str) -> None:
    axis.plot(*_finite(axis, run, column), color=colour(name), linewidth=0.7, alpha=0.8)


def _cross(axis: Axes, run: pd.DataFrame, column: str) -> None:
    """Where a run ended that diverged; inside the panel, whatever its last value."""
    passes, values = _finite(axis, run, column)
    if len(values):
        low, high = axis.get_ylim()
        last = min(max(float(values.iloc[-1]), low), high)
        axis.plot([float(passes.iloc[-1])], [last], "x", color=INK, markersize=5, clip_on=False)


def _finite(axis: Axes, run: pd.DataFrame, column: str) -> tuple[pd.Series, pd.Series]:
    """What can be drawn: on a logarithmic scale not zeros, which max |log g| is whenever the noise was renewed."""
    shown = run[np.isfinite(run[column])]
    shown = shown[shown[column] > 0] if axis.get_yscale() == "log" else shown
    return shown["passes"], shown[column]


def _scale(axis: Axes, values: pd.Series, log: bool) -> None:
    """Show the bulk: one exploding run must not flatten the others."""
    finite = values[np.isfinite(values)].to_numpy(dtype=float)
    log = log or spans_decades(finite)
    finite = finite[finite > 0] if log else finite
    if not len(finite):
        return
    low, high = _bulk(finite)
    if log:
        axis.set(yscale="log", ylim=(low / 1.5, high * 1.5))
        plain_ticks(axis.yaxis, low / 1.5, high * 1.5)
    else:
        margin = 0.1 * (high - low) or 0.1 * abs(high) or 0.1
        axis.set_ylim(low - margin, high + margin)
        axis.yaxis.set_major_locator(MaxNLocator(4))


def _bulk(finite: np.ndarray) -> tuple[float, float]:
    ends = [0.005, 0.98] if len(finite) > FEW else [0.0, 1.0]
    low, high = np.quantile(finite, ends)
    return float(low), float(high)


def spans_decades(finite: np.ndarray) -> bool:
    """Whether a linear scale would hide the small ones; a zero (a start at the optimum) does not forbid it."""
    positive = finite[finite > 0]
    if not len(positive) or (finite < 0).any():
        return False
    low, high = _bulk(positive)
    return high > DECADES * low


def _history(root: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """The history of one method's runs with these settings."""
    suite, dataset, method = (str(rows[column].iloc[0]) for column in ("suite", "dataset", "method"))
    file = cell_folder(root, suite, dataset, method) / "history.csv"
    if not file.is_file():
        return pd.DataFrame()
    history = pd.read_csv(file, dtype={"label": str})
    return history[history["label"].isin(set(rows["label"]))]


def _diverged(frame: pd.DataFrame, dataset: str) -> set[tuple[str, str]]:
    rows = frame[(frame["dataset"] == dataset) & (frame["status"] == "diverged")]
    return set(zip(rows["method"], rows["label"], strict=True))
