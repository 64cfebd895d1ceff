"""Ranks over a suite, and the probability that one method improves on another.

On each task and seed the methods are ranked by their loss: 1 is best, equal losses share the mean of their ranks, a
run without a value has an infinite loss and is last. Seeds are the unit: the ranks of a method are averaged over the
T tasks, which gives one number for each of the n seeds, and these have a mean r̄, a deviation s and the 95 % interval

    r̄ ± t(0.975, n−1) · √((s² + 1/(12 T)) / n).

1/12 is the variance of a number that was rounded to a whole one, as a rank is. Without it three seeds that agree would
look like certainty, though two equal methods come in the same order on three seeds one time in four.

Who ties with the best is found from the last place upwards. The m methods of the best mean ranks are ranked among
themselves, and the last of them is told apart from the first if their mean ranks differ by more than

    q(m) · √(V/(2 T n)),    V = max(m(m+1)/6, variance of their difference over seeds).

m(m+1)/6 is the variance of that difference between equal methods, so that nothing must be estimated, and q(m) is the
upper 5 % point of the range of m standard normal numbers (Nemenyi 1963; Demšar 2006). Of two methods, whose ranks
differ by whole pairs of places, half of such a step, 1/(T n), is added. If the last is told apart it leaves, and the
others are ranked anew; else all that are left tie. Of equal methods some one is told apart in at most 6 % of tables for
k = 2 … 24 and n = 3, 5, 10; of methods with equal mean ranks whose spreads differ tenfold in 10 % at worst (k = 24).
The paired t intervals that earlier reports had did so in 36 to 51 % for k = 7.

The probability of improvement (Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical
precipice") is the mean over tasks of

    P(a better than b) = 1/n² Σᵢⱼ S(aᵢ, bⱼ),    S = 1 if aᵢ < bⱼ, ½ if they are equal.

Seed i has a share in it as a run of a, Vᵢ = mean over j of S(aᵢ, bⱼ), and as one of b, Wᵢ = mean over j of S(aⱼ, bᵢ).
To first order (Sen 1960) P varies as the mean of Vᵢ + Wᵢ − P does, so that its interval is made alike; half a
rounding is enough for shares that are means over the runs of the other method.

The paper's stratified bootstrap is not used: with 3 seeds it holds the true mean rank of equal methods in 70 to 85 %
of cases, and of methods that differ clearly almost never, since all seeds agree. These intervals do in 97 % on
average, and in 87 % in the worst case found (two methods on one dataset); a test simulates both.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ebmbench.report.statistics.leaders import studentized_range
from ebmbench.report.statistics.seeds import LEVEL

Array = NDArray[np.float64]
ROUNDING = 1 / 12
PLACES = 2  # decimals of a printed rank or probability


@dataclass(frozen=True)
class Estimate:
    """Means over seeds with half the widths of their intervals, and the bounds of what is possible."""

    mean: Array
    half: Array
    least: float
    most: float

    @property
    def low(self) -> Array:
        """The lower ends, none below what is possible."""
        return np.maximum(self.mean - self.half, self.least)

    @property
    def high(self) -> Array:
        """The upper ends, none above what is possible."""
        return np.minimum(self.mean + self.half, self.most)


def seed_ranks(losses: Array) -> Array:
    """The rank of each method averaged over tasks, `(tasks, seeds, methods) -> (seeds, methods)`."""
    ranks: Array = stats.rankdata(losses, axis=-1)
    return ranks.mean(axis=0)


def mean_ranks(losses: Array) -> Estimate:
    """The mean rank of each method, `(tasks, seeds, methods) -> (methods,)`."""
    ranks = seed_ranks(losses)
    return Estimate(ranks.mean(axis=0), half_widths(ranks, len(losses)), 1.0, float(losses.shape[-1]))


def ties(losses: Array) -> NDArray[np.bool_]:
    """Which methods tie with the one of the best mean rank, itself among them, `(methods,)`."""
    order = np.argsort(seed_ranks(losses).mean(axis=0), kind="stable")
    left = len(order)
    while left > 1 and _last_is_apart(losses[:, :, order[:left]]):
        left -= 1
    tied = np.zeros(len(order), dtype=np.bool_)
    tied[order[:left]] = True
    return tied


def _last_is_apart(losses: Array) -> bool:
    """Whether the last of these methods, ranked among themselves, is behind the first by more than chance explains."""
    tasks, seeds, methods = losses.shape
    ranks = stats.rankdata(losses, axis=-1)
    behind = ranks[:, :, -1] - ranks[:, :, 0]
    seen = float(np.var(behind, axis=1, ddof=1).mean()) if seeds > 1 else 0.0
    error = math.sqrt(max(methods * (methods + 1) / 6, seen) / (2 * tasks * seeds))
    step = 1 / (tasks * seeds) if methods == 2 else 0.0
    return float(behind.mean()) > studentized_range(1 - LEVEL, methods, math.inf) * error + step


def improvement(losses: Array) -> Estimate:
    """P(row better than column), `(tasks, seeds, methods) -> (methods, methods)`."""
    ours, theirs = losses[:, :, None, :, None], losses[:, None, :, None, :]
    wins = ((ours < theirs) + 0.5 * (ours == theirs)).mean(axis=0)  # seeds of the row, seeds of the column, row, column
    mean = wins.mean(axis=(0, 1))
    shares = wins.mean(axis=1) + wins.mean(axis=0) - mean
    return Estimate(mean, half_widths(shares, len(losses), roundings=0.5), 0.0, 1.0)


def half_widths(values: Array, tasks: int, roundings: float = 1) -> Array:
    """Half the widths of the t intervals of means over seeds (the first axis) of averages of rounded numbers."""
    seeds = len(values)
    variance = np.var(values, axis=0, ddof=1) + roundings * ROUNDING / tasks
    quantile = float(stats.t.ppf(0.5 + LEVEL / 2, seeds - 1))
    half: Array = quantile * np.sqrt(variance / seeds)
    return half
