"""Mean ranks with their intervals beside the probabilities of improvement, a row for each method in both.

Rows that tie with the first are shaded. In the matrix, blue is where the row is better than the column, orange where it
is worse, and white a toss of a coin; the blue is darker than the orange, which a grey printer shows. A number is bold
where its interval leaves out ½.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator

from ebmbench.report.figures.theme import EMPTY, INK, WIDTH, line_style, save
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import Contest, find_contests
from ebmbench.report.statistics.ranks import PLACES, Estimate, improvement, mean_ranks, seed_ranks, ties
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import format_fixed

SECTION = "ranking"
ORDER = 10

FEWEST = 3  # methods; of two the table says it all
# Inches.
ROW, WIDEST, MATRIX, GAP, BOTTOM = 0.34, 0.5, 3.4, 0.2, 0.6
SIZE = 9  # of the names, in points
NARROWEST = 1.8  # inches of the first panel; longer names make the figure wider than a page
TILT = 40  # degrees of the names above the matrix
WORSE, BETTER = "#E8974E", "#1F4E99"
MOST = 10  # methods whose probabilities are written out, `0.25`; those of more are short, `.25`, to fit their cells
SHORT = {"0.00": "0", "1.00": "1"}
DARK = 0.8  # the probability from which on a number is better read in white
BELOW = 0.27  # of a row, where the dots of seeds stand


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each contest of three methods or more."""
    chosen = [one for one in find_contests(results) if one.decided and len(one.names) >= FEWEST]
    return [_figure(one, folder / f"ranks{f'-{one.kind}' if one.kind else ''}.svg") for one in chosen]


def improvement_colours() -> Colormap:
    """From worse over white to better."""
    return LinearSegmentedColormap.from_list("improvement", [WORSE, "white", BETTER])


def _figure(contest: Contest, file: Path) -> Image:
    figure, left, right = _panels(contest.names)
    _rank_panel(left, contest)
    _matrix(right, contest.names, improvement(contest.losses))
    save(figure, file)
    return Image(f"figures/{file.name}", _alt(contest), _caption(contest), contest.title)


def _panels(names: list[str]) -> tuple[Figure, Axes, Axes]:
    """Two panels with the same rows; names stand left of the first and tilted above the second."""
    count, wide, slope = len(names), [_width(name) for name in names], np.radians(TILT)
    aside, matrix = max(wide) + 0.2, min(WIDEST * count, MATRIX)
    above = max(wide) * np.sin(slope) + 0.2
    ends = [place * matrix / count + width * np.cos(slope) for place, width in enumerate(wide, 1)]
    beyond = max(0.1, max(ends) - matrix)
    height = above + ROW * count + BOTTOM
    ranks = max(NARROWEST, WIDTH - aside - GAP - matrix - beyond)
    width = aside + ranks + GAP + matrix + beyond
    figure = Figure(figsize=(width, height))
    inside = (BOTTOM / height, ROW * count / height)
    left = figure.add_axes((aside / width, inside[0], ranks / width, inside[1]))
    right = figure.add_axes((1 - (matrix + beyond) / width, inside[0], matrix / width, inside[1]))
    return figure, left, right


def _width(name: str) -> float:
    """Inches that a name takes in bold."""
    bold = FontProperties(family="DejaVu Sans", weight="bold", size=SIZE)
    return float(TextPath((0, 0), name, prop=bold).get_extents().x1) / 72


def _rank_panel(axis: Axes, contest: Contest) -> None:
    ranks, seeds, tied = mean_ranks(contest.losses), seed_ranks(contest.losses), ties(contest.losses)
    names, count = contest.names, len(contest.names)
    for row, name in enumerate(names):
        if tied[row]:
            axis.axhspan(row - 0.5, row + 0.5, color=EMPTY, linewidth=0, zorder=0)
        style = line_style(name, names) | {"linestyle": ""}
        axis.plot([ranks.low[row], ranks.high[row]], [row, row], color=style["color"], linewidth=2.2, alpha=0.55)
        axis.plot(ranks.mean[row], row, markersize=7.5, zorder=3, **style | {"markerfacecoloralt": "white"})
        axis.scatter(seeds[:, row], np.full(len(seeds), row + BELOW), s=5, color=INK, alpha=0.45, linewidth=0)
    axis.set(xlim=(0.7, count + 0.3), ylim=(count - 0.5, -0.5), xlabel="mean rank (1 is best)")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axis.set_yticks(range(count), names, fontsize=SIZE)
    for label, bold in zip(axis.get_yticklabels(), tied, strict=True):
        label.set_fontweight("bold" if bold else "normal")
    axis.grid(visible=False, axis="y")
    axis.spines[["top", "right", "left"]].set_visible(False)


def _matrix(axis: Axes, names: list[str], better: Estimate) -> None:
    count = len(names)
    shown = np.ma.masked_array(better.mean, np.eye(count, dtype=bool))
    axis.pcolormesh(shown, cmap=improvement_colours(), vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    for row in range(count):
        for column in range(count):
            if row != column:
                _number(axis, row, column, better)
    axis.set(ylim=(count, 0), xlabel="probability that row beats column")
    axis.set_xticks(np.arange(count) + 0.5, names, rotation=TILT, ha="left", rotation_mode="anchor")
    axis.xaxis.tick_top()
    axis.xaxis.set_label_position("bottom")
    axis.set_yticks([])
    axis.tick_params(length=0, pad=2)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


def _number(axis: Axes, row: int, column: int, better: Estimate) -> None:
    value = float(better.mean[row, column])
    clear = better.low[row, column] > 0.5 or better.high[row, column] < 0.5
    text, many = format_fixed(value, PLACES), len(better.mean) > MOST
    axis.text(
        column + 0.5,
        row + 0.5,
        SHORT.get(text, text.removeprefix("0")) if many else text,
        ha="center",
        va="center",
        fontsize=6.5 if many else 8,
        fontweight="bold" if clear else "normal",
        color="white" if value > DARK else INK,
    )


def _alt(contest: Contest) -> str:
    return f"Mean ranks by {contest.title} of {', '.join(contest.names)}, and which method beats which."


def _caption(contest: Contest) -> str:
    on = ", ".join(f"`{name}`" for name in contest.datasets)
    return (
        f"{contest.title} on {on}. Left: mean ranks with 95 % intervals; dots are seeds, shaded rows tie with the "
        "first. Right: bold where the interval leaves out ½."
    )
