"""Histories of training: loss, gradient norms of weights and along chains, and energy gap, a line for each seed.

Losses of different methods mean different things, so each method has its own panels and scales, logarithmic where
positive values span decades. Panels follow each other without gaps: what a method does not write has none. A run that
diverged ends in a cross. A long history is thinned to every k-th row: the lines show tendencies, `history.csv` has all
the values.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from ebmbench.report.figures.theme import INK, WIDTH, brief_name, colour, plain_ticks, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image
from ebmbench.workspace.layout import cell_folder

SECTION = "training"
ORDER = 10

COMMON = ("label", "step", "passes", "loss", "gradient_norm", "learning_rate")
# The third panel of a method shows the gap between the energies of negatives and of data (a gap that grows says that
# chains do not find the model's mass), or a learned constant, or else the first column of a method's own; the fourth
# how steep the energy is along the chains (Xu 2022, 3.2.2).
DIAGNOSTICS = ("energy_gap", "c", "max_abs_log_g", "chain_acceptance")
CHAINS = "chain_gradient_norm"
NAMES = {"max_abs_log_g": "max |log g|", "c": "c (log Z)", "gradient_norm": "‖∇θ L‖", CHAINS: "‖∇x E‖ on chains"}
POINTS = 160  # of all lines of a panel
ACROSS, ROWS = 3, 12  # panels beside each other, and rows of a figure; more panels have more figures
FEW = 150  # values, of which none is set aside as an outlier
DECADES = 100.0  # a larger ratio of the bulk's ends is shown on a logarithmic scale
COLOURS = 64  # thin lines need no more
LETTERS = 27  # of a title in the usual size
HEIGHT = 1.35  # inches of a panel with its title

Shown = tuple[str, str, pd.DataFrame]  # method, column, history


def draw(results: Results, folder: Path) -> list[Image]:
    """The histories of each dataset's methods, in several figures if the methods are many."""
    return [image for dataset in results.datasets for image in draw_dataset(results, dataset, folder)]


def draw_dataset(results: Results, dataset: str, folder: Path) -> list[Image]:
    """The figures of one dataset; none if there are no histories."""
    methods = {name: rows for name, rows in variants(results.frame, dataset).items() if not is_baseline(name)}
    known = {name: found for name, rows in methods.items() if len(found := _history(results.root, rows))}
    shown = [(name, column, history) for name, history in known.items() for column in choose_columns(history)]
    ended, size = _diverged(results.frame, dataset), ACROSS * ROWS
    parts = [shown[place : place + size] for place in range(0, len(shown), size)]
    stems = [f"health-{dataset}{f'-{place + 1}' if place else ''}" for place in range(len(parts))]
    return [_figure(part, dataset, ended, folder / f"{stem}.png") for part, stem in zip(parts, stems, strict=True)]


def _figure(shown: list[Shown], dataset: str, ended: set[tuple[str, str]], file: Path) -> Image:
    down = math.ceil(len(shown) / ACROSS)
    figure = Figure(figsize=(WIDTH, HEIGHT * down))
    axes = list(figure.subplots(down, ACROSS, squeeze=False).flat)
    figure.subplots_adjust(0.085, 0.2 / down, 0.98, 1 - 0.2 / down, wspace=0.3, hspace=0.62)  # faster than a layout
    for axis, one in zip(axes, shown, strict=False):
        _panel(axis, *one, ended)
    for axis in axes[len(shown) :]:
        axis.set_axis_off()
    save(figure, file, COLOURS)
    names = ", ".join(dict.fromkeys(name for name, _, _ in shown))
    return Image(
        f"figures/{file.name}",
        f"Training histories of {names} on {dataset}.",
        f"`{dataset}`, against network passes: a line for each seed; a cross marks where a run diverged.",
        f"Training histories on {dataset}: {names}",
    )


def _panel(axis: Axes, name: str, column: str, history: pd.DataFrame, ended: set[tuple[str, str]]) -> None:
    """One column of a method's histories."""
    _scale(axis, history[column], log=column.endswith("gradient_norm"))
    stride = math.ceil(len(history) / POINTS)
    for label, run in history.groupby("label", sort=False):
        _line(axis, run.iloc[::stride], column, name)
        if (name.split(" ")[0], str(label)) in ended:
            _cross(axis, run, column)
    title = f"{brief_name(name)}: {NAMES.get(column, column.replace('_', ' '))}"
    axis.set_title(title, fontsize=min(9.5, 9.5 * LETTERS / len(title)))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_major_locator(MaxNLocator(4))


def choose_columns(history: pd.DataFrame) -> list[str]:
    """The columns that are shown of a method, as far as it writes them."""
    wanted = ("loss", "gradient_norm", choose_diagnostic(history), CHAINS)
    return [column for column in wanted if column in history and history[column].notna().any()]


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
