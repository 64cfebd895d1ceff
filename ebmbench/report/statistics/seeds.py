"""Statistics over seeds: means, their intervals, and differences seed by seed.

A seed is the unit of observation. For n values the mean is printed with the 95 % interval of Student's t,
`mean ± t(0.975, n−1) · s/√n`; the interval is Student's because three to five seeds are too few for a bootstrap. Two
versions of one method are compared seed by seed (`compare`), methods with each other as whole groups (`leaders`).
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

    @property
    def loss(self) -> float:
        """The median over all runs, so that smaller is better; a run without a value is infinitely bad."""
        sign = -1 if self.direction == "higher" else 1
        lost = [math.inf] * (self.runs - len(self.values))
        return float(np.median([sign * value for value in self.values.values()] + lost))

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


def paired_differences(one: Summary, other: Summary) -> np.ndarray:
    """`one − other` seed by seed, over the seeds that both have; of logarithms if all values are positive."""
    common = sorted(one.values.keys() & other.values.keys())
    ours, theirs = (np.array([each.values[seed] for seed in common]) for each in (one, other))
    if uses_logarithms(one, other):
        ours, theirs = np.log(ours), np.log(theirs)
    return ours - theirs


def uses_logarithms(one: Summary, other: Summary) -> bool:
    """Whether differences are of logarithms: all values of the common seeds are positive."""
    common = one.values.keys() & other.values.keys()
    return bool(common) and min(each.values[seed] for each in (one, other) for seed in common) > 0
