"""Statistics over seeds: means, intervals, and which methods tie with the best.

A seed is the unit of observation. For n values the mean is printed with the 95 % interval of Student's t,
`mean ± t(0.975, n−1) · s/√n`. Methods are compared seed by seed: with differences dᵢ = xᵢ − bestᵢ over the
seeds that both have, a method ties with the best unless the 95 % t interval of d lies wholly on the worse side.
Where all values are positive the differences are those of logarithms: a divergence that is a
thousand times larger on every seed is not a tie because it also varies a lot. A method competes only if every
one of its runs gave a value: the mean over surviving runs flatters whoever diverged.

The paired comparison and declared ties follow Agarwal et al. (2021), "Deep reinforcement learning at the edge
of the statistical precipice"; the interval is Student's because three to five seeds are too few for a
bootstrap.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True)
class Summary:
    """One method on one dataset in one metric: its values by seed, and how many runs there were."""

    values: dict[int, float]
    runs: int
    direction: str

    @property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return float(np.mean(list(self.values.values()))) if self.values else None

    @property
    def median(self) -> float | None:
        """The median over seeds."""
        return float(np.median(list(self.values.values()))) if self.values else None

    @property
    def half(self) -> float | None:
        """Half the width of the interval of the mean."""
        return half_width(list(self.values.values()))

    def no_better_than(self, truth: "Summary") -> "Summary":
        """Values beyond the truth's own count as the truth's: less mass in the tails than the data have is no merit."""
        if truth.mean is None or self.direction not in ("lower", "higher"):
            return self
        bound = max if self.direction == "lower" else min
        return Summary(
            {seed: bound(value, truth.mean) for seed, value in self.values.items()}, self.runs, self.direction
        )

    @property
    def complete(self) -> bool:
        """Every run gave a value."""
        return 0 < self.runs == len(self.values)


def half_width(values: list[float]) -> float | None:
    """Half the width of the 95 % t interval of the mean; None below two values or if one is infinite."""
    if len(values) < 2 or not np.all(np.isfinite(values)):
        return None
    quantile = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def summarise(rows: pd.DataFrame, metric: str) -> Summary:
    """The summary of `metric` over the rows of one method (with settings) on one dataset."""
    of_metric = rows["metric"] == metric
    good = of_metric & rows["value"].notna() & (rows["status"] == "ok")
    # Column by column: to select rows of all columns takes many times as long.
    values = {int(seed): float(value) for seed, value in zip(rows["seed"][good], rows["value"][good], strict=True)}
    directions = rows["direction"][of_metric]
    return Summary(values, rows["label"].nunique(), str(directions.iloc[0]) if len(directions) else "")


def find_best(summaries: dict[str, Summary]) -> str | None:
    """The name with the best mean among those that compete; None without a direction or competitors."""
    means = {name: one.mean for name, one in summaries.items() if one.complete and one.mean is not None}
    directions = {summaries[name].direction for name in means}
    if not means or directions not in ({"lower"}, {"higher"}):
        return None
    sign = 1.0 if directions == {"lower"} else -1.0
    return min(means, key=lambda name: sign * (means[name] or 0.0))


def ties_with(one: Summary, winner: Summary) -> bool:
    """Whether the paired 95 % t interval of `one − winner` (of logarithms if positive) reaches zero or is unknown."""
    worse = paired_differences(one, winner) * (-1.0 if winner.direction == "higher" else 1.0)
    half = half_width(worse.tolist())
    return half is None or float(np.mean(worse)) <= half


def paired_differences(one: Summary, other: Summary) -> np.ndarray:
    """`one − other` seed by seed, over the seeds that both have; of logarithms if all values are positive."""
    common = sorted(one.values.keys() & other.values.keys())
    ours, theirs = (np.array([each.values[seed] for seed in common]) for each in (one, other))
    if len(common) and min(ours.min(), theirs.min()) > 0:
        ours, theirs = np.log(ours), np.log(theirs)
    return ours - theirs


def find_leaders(summaries: dict[str, Summary]) -> set[str]:
    """The best and all that tie with it; nobody if one seed is all there is, for then all would tie."""
    winner = find_best(summaries)
    if winner is None or summaries[winner].half is None:
        return set()
    return {name for name, one in summaries.items() if one.complete and ties_with(one, summaries[winner])}
