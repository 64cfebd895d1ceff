"""Who is printed in bold: the best of a column, and every method that these seeds cannot tell from it.

Losses are logarithms where smaller is better and all values are positive (a divergence that is a thousand times larger
on every seed is no tie because it also varies a lot), values of a score with their sign turned, and else values as they
are. Of k methods, each with the mean x̄, the variance s² and n seeds, b has the smallest mean. Two methods are compared
by Welch's t test at 5 %. Of more, method i is told apart from b if at least one of two tests says so:

    range:  x̄ᵢ − x̄_b > q(k, Σ(n−1)) · √(½ S² (1/nᵢ + 1/n_b)),    S² = max(pooled s², sᵢ², s_b²),
    pair:   Welch's t of the two, p < 0.01 / (m(m−1)/2), the smallest p first, with m methods left each time.

q is the upper 4 % point of Tukey's studentized range: the best and the worst of k equal methods differ by more than
that in 4 % of tables, whoever they are. The pooled variance makes three seeds of each method enough; the other two in
S² protect against a method that varies more than the rest. The second test (Welch 1947; Holm 1979, with the counts of
Shaffer 1986) is for steady methods beside erratic ones, which lose by the pooled variance. Together: of methods that
are all equal, some one is not bold in about 5 % of tables at most. Hsu's comparison with the best (1984) is not enough,
for it only promises that *one* of several equal best methods is found: some is missing in 23 % of tables with k = 7.

Percent of tables in which some of k equal methods is not bold, and in which a method five times as bad as the k − 1
others is not (log-values of deviation 0.5), by simulation (a slow test repeats it):

    n = 3                                    k = 2     3     7    12    24
    equal spread                               3.6   2.5   1.9   2.2   1.8
    variances from 1 to 10                     5.5   3.4   3.4   4.0   4.4
    deviations from 1 to 10                    5.9   4.8   4.3   4.6   5.5
    five times as bad, told apart               74    63    66    67    67

More seeds err less (at most 5.3 % for n = 5 and n = 10), and so do heavy tails and tables with fewer than k equal best
methods. Seeds are not paired: where methods share weights and batches, their values rise and fall together, differences
vary less than is assumed, and the rule errs less but also finds less.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ebmbench.report.statistics.seeds import Summary

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
RANGE_LEVEL, PAIR_LEVEL = 0.04, 0.01
ALONE = RANGE_LEVEL + PAIR_LEVEL  # of the only pair there is


def find_leaders(summaries: dict[str, Summary]) -> set[str]:
    """The best and all that tie with it; nobody without a direction, without two seeds or without a competitor.

    A method competes only if every one of its runs gave a value: the mean over surviving runs flatters whoever
    diverged.
    """
    competing = {name: one for name, one in summaries.items() if one.complete and len(one.values) > 1}
    directions = {one.direction for one in competing.values()}
    if len(competing) < 2 or directions not in ({"lower"}, {"higher"}):
        return set()
    losses = to_losses([list(one.values.values()) for one in competing.values()], directions.pop())
    return {name for name, apart in zip(competing, tell_apart(losses), strict=True) if not apart}


def to_losses(values: Sequence[Sequence[float]], direction: str) -> list[Array]:
    """The values of each method on the scale of the comparison; a score such as a likelihood has no zero, so no log."""
    found = [np.asarray(one, dtype=np.float64) for one in values]
    if direction == "higher":
        return [-one for one in found]
    return [np.log(one) for one in found] if min(one.min() for one in found) > 0 else found


def tell_apart(losses: Sequence[Array]) -> Flags:
    """Which methods are worse than the one of the smallest mean loss by more than chance explains, `(methods,)`."""
    counts = np.array([len(one) for one in losses], dtype=np.float64)
    means, variances = (np.array([f(one) for one in losses]) for f in (np.mean, lambda one: np.var(one, ddof=1)))
    best = int(np.argmin(means))
    if len(means) == 2:
        return _by_pair(means, variances, counts, best, ALONE)
    return _by_range(means, variances, counts, best) | _by_pair(means, variances, counts, best, PAIR_LEVEL)


def _by_range(means: Array, variances: Array, counts: Array, best: int) -> Flags:
    free = float((counts - 1).sum())
    pooled = float(((counts - 1) * variances).sum()) / free
    largest = np.maximum(np.maximum(variances, variances[best]), pooled)
    errors = np.sqrt(largest * (1 / counts + 1 / counts[best]) / 2)
    apart: Flags = means - means[best] > studentized_range(RANGE_LEVEL, len(means), free) * errors
    return apart


def _by_pair(means: Array, variances: Array, counts: Array, best: int, level: float) -> Flags:
    p, left = _welch(means, variances, counts, best), len(means)
    apart = np.zeros(left, dtype=np.bool_)
    for place in np.argsort(p)[:-1]:  # the last is the best itself, or no worse
        if p[place] >= level / (left * (left - 1) / 2):
            break
        apart[place], left = True, left - 1
    return apart


def _welch(means: Array, variances: Array, counts: Array, best: int) -> Array:
    """Two-sided p-values of each against the best; without any variance a difference is certain."""
    own, behind = variances / counts, means - means[best]
    both = own + own[best]
    varies = both > 0
    p: Array = np.where(behind > 0, 0.0, 1.0)
    parts = own**2 / (counts - 1) + own[best] ** 2 / (counts[best] - 1)
    p[varies] = 2 * stats.t.sf(behind[varies] / np.sqrt(both[varies]), both[varies] ** 2 / parts[varies])
    return p


@cache
def studentized_range(level: float, methods: int, free: float) -> float:
    """The value that the range of `methods` equal means exceeds with probability `level`, in standard errors."""
    return float(stats.studentized_range.isf(level, methods, free))
