"""How much tuning a method needs: the value that the best of n random settings is expected to have.

With N random trials, sorted v₁ ≤ … ≤ v_N, the mean of the best over all subsets of n of them is

    Σᵢ vᵢ · C(N − i, n − 1) / C(N, n)

since vᵢ is the best of a subset if the other n − 1 come after it. It is unbiased (Tang et al., Showing Your Work
Doesn't Always Work, 2020); the expectation under draws with replacement (Dodge et al., Show Your Work, 2019) is not.
Only random trials are a sample of the space: the start was chosen before, and the other proposals follow good values.
Values are logs of the criterion, so curves show e to the power of their mean. A setting that failed has the value +∞.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ebmbench.report.figures.theme import apply_theme, colour, marker, plain_ticks, save
from ebmbench.tuning.trials import Row, of_method

FIGURE = "best-of-n.svg"
SIZE = (7.0, 4.0)  # inches
NEAR = 1.5  # a factor of the criterion that counts as nearly as good

Curves = dict[str, list[float]]  # by method, the expected best of 1, 2, … N


def expected_best(values: Sequence[float], n: int) -> float:
    """The mean over all subsets of n values of their minimum."""
    ordered, count = sorted(values), len(values)
    # Values that are the best of no subset are left out: 0 · ∞ is no number.
    terms = [value * math.comb(count - place, n - 1) for place, value in enumerate(ordered[: count - n + 1], 1)]
    return math.fsum(terms) / math.comb(count, n) if math.isfinite(terms[-1]) else math.inf


def compute_curves(rows: list[Row]) -> Curves:
    """The curves of all methods that have random trials, in units of the criterion."""
    curves = {}
    for method in dict.fromkeys(row.method for row in rows):
        values = [row.value for row in of_method(rows, method, 1) if row.proposal == "random"]
        if values:
            curves[method] = [math.exp(expected_best(values, n)) for n in range(1, len(values) + 1)]
    return curves


def shown_counts(curves: Curves) -> list[int]:
    """The columns of the table: 1, 2, 4, 8, … and the last."""
    last = max(map(len, curves.values()))
    return [*(2**power for power in range(last.bit_length()) if 2**power < last), last]


def count_needed(curve: list[float]) -> int:
    """How many random settings until the best is expected to be nearly as good as the best of all."""
    return next(n for n, value in enumerate(curve, 1) if value <= NEAR * curve[-1])


def describe_need(curves: Curves) -> str:
    """Which methods need tuning most and which least, in one sentence; and whose settings may fail."""
    needs = {method: count_needed(curve) for method, curve in curves.items() if math.isfinite(curve[-1])}
    fails = [f"`{method}`" for method, curve in curves.items() if not math.isfinite(curve[0])]
    named = {n: ", ".join(f"`{name}`" for name in needs if needs[name] == n) for n in needs.values()}
    parts = []
    if len(named) > 1:
        most, fewest = max(named), min(named)
        parts.append(
            f"Until the best is expected to be within a factor of {NEAR} of the best of all random settings, "
            f"{named[most]} needs {most} of them, the most, and {named[fewest]} {fewest}, the fewest."
        )
    if fails:
        parts.append(f"A random setting of {', '.join(fails)} may give no number at all.")
    return " ".join(parts)


def draw_curves(curves: Curves, file: Path) -> None:
    """A line for each method, as far as its expectation is finite."""
    with apply_theme(list(curves)):
        figure = Figure(figsize=SIZE, layout="constrained")
        axis = figure.subplots()
        for method, curve in curves.items():
            points = [(n, value) for n, value in enumerate(curve, 1) if math.isfinite(value)]
            xs, ys = [n for n, _ in points], [value for _, value in points]
            style: dict[str, Any] = {"color": colour(method), "marker": marker(method), "markeredgewidth": 0}
            axis.plot(xs, ys, label=method, linewidth=1.3, markersize=4.5, **style)
        axis.set(yscale="log", xlabel="random settings tried", ylabel="expected criterion of the best of them")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        plain_ticks(axis.yaxis, *axis.get_ylim())
        figure.legend(loc="outside right center")
        save(figure, file)
