"""When an effect counts as shown, as refuted, or as undecided.

A criterion says that a statistic lies above (or below) a bound b. A seed is the unit of observation: of n values with
mean m and deviation s, the limits are m ∓ t(1 − α, n − 1)·s/√n of Student's t. For a criterion «above b»

    reproduced       if the lower limit lies above b: Student's one-sided test of mean ≤ b rejects at level α,
    not reproduced   if the upper limit lies below b: the test of mean ≥ b rejects,
    undecided        otherwise, and then the power it had is what a reader needs: the probability that n seeds with
                     deviation s show the effect, if it is as large as the source (or its theory) makes it, `expected`.

The power is that of a noncentral t with δ = |expected − b|·√n/s. A *share* has the values 0 and 1, and its test and its
limits (Clopper & Pearson) are binomial. An *exact* criterion is one of mathematics: every seed must meet it, one that
does not refutes it, and there is no test. A *published* number is met in the same way, by every seed: «within b» says
that the statistic is at most b away from it.

A claim with several criteria is reproduced if all are: each test has level α, so has their conjunction (Berger 1982).
It is not reproduced if one of m is refuted, for which each is tested at α/m (Bonferroni). A value that is no number
neither shows nor refutes: the criterion is undecided, with a note.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scipy import stats

Verdict = Literal["reproduced", "not reproduced", "undecided"]
ALPHA = 0.01


@dataclass(frozen=True)
class Criterion:
    """The statistic `key` must lie `above` or `below` a `bound`; `says` is the statistic in words.

    `published` is the number of the source that the statistic reproduces; `within` a bound of it is a side of its own.
    `expected` is the size of the effect for which the power is computed: what the source or its theory says, never what
    was seen here. Exact criteria need none. If the statistic is the `logarithm` of a ratio or of another positive
    number, it is tested as it is, and `says`, the rule and all that is printed are about that ratio or number.
    """

    key: str
    says: str
    side: Literal["above", "below", "within"]
    bound: float
    expected: float | None = None
    published: float | None = None
    exact: bool = False
    share: bool = False
    alpha: float = ALPHA
    logarithm: Literal["", "ratio", "number"] = ""

    @property
    def rule(self) -> str:
        """The rule in words."""
        test = "binomial" if self.share else "t"
        how = "at every seed" if self.exact else f"one-sided {test} over seeds, α = {self.alpha:g}"
        bound = self.scale(self.bound)
        if self.logarithm == "ratio":
            return f"{'more' if self.side == 'above' else 'less'} than {describe_factor(bound)} ({how})"
        of = f" of {self.published:g}" if self.side == "within" else ""
        return f"{self.side} {bound:.4g}{of} ({how})"

    def scale(self, value: float) -> float:
        """A value of the statistic as it is printed."""
        return math.exp(value) if self.logarithm else value

    def met_by(self, value: float) -> bool:
        """Whether a value lies on the side of the bound that the criterion asks for."""
        if self.side == "within":
            assert self.published is not None
            return abs(value - self.published) <= self.bound
        return value > self.bound if self.side == "above" else value < self.bound


def describe_factor(factor: float) -> str:
    """A factor in words: `twice`, `100 times`, `half`, `a third`, `1/10`, `1.1 times`."""
    for value, words in ((2, "twice"), (1 / 2, "half"), (1 / 3, "a third")):
        if math.isclose(factor, value, rel_tol=1e-3):
            return words
    part = round(1 / factor)
    return f"1/{part}" if part > 1 and math.isclose(factor * part, 1, rel_tol=1e-3) else f"{factor:.3g} times"


@dataclass(frozen=True)
class Finding:
    """How a criterion came out."""

    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    power: float | None
    values: list[float | None]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return asdict(self)


def decide_criterion(criterion: Criterion, values: Sequence[float], criteria: int = 1) -> Finding:
    """Decide a criterion by its values at the seeds; its claim has so many criteria."""
    found = [float(value) if math.isfinite(value) else None for value in values]
    numbers = [value for value in found if value is not None]
    missing = len(found) - len(numbers)
    if missing:
        note = f"{missing} of {len(found)} seeds gave no number"
        return Finding("undecided", None, None, None, None, None, found, note)
    if criterion.exact:
        return _decide_exact(criterion, numbers)
    if criterion.share:
        return _decide_share(criterion, numbers, criteria)
    return _decide_mean(criterion, numbers, criteria)


def _decide_exact(criterion: Criterion, numbers: list[float]) -> Finding:
    verdict: Verdict = "reproduced" if all(map(criterion.met_by, numbers)) else "not reproduced"
    return Finding(verdict, _mean(numbers), min(numbers), max(numbers), None, None, [*numbers])


def _decide_mean(criterion: Criterion, numbers: list[float], criteria: int) -> Finding:
    if len(numbers) < 2:
        raise ValueError(f"criterion {criterion.key}: a test needs two seeds or more, found {len(numbers)}")
    sign = 1.0 if criterion.side == "above" else -1.0
    mean, error, freedom = _mean(numbers), _error(numbers), len(numbers) - 1
    distance = sign * (mean - criterion.bound)
    # Equal values have no error.
    t = distance / error if error > 0 else math.copysign(math.inf, distance) if distance else 0.0
    p = float(stats.t.sf(t, freedom))
    verdict = _verdict(criterion, p, 1 - p, criteria)
    reach = float(stats.t.ppf(1 - criterion.alpha, freedom)) * error
    return Finding(verdict, mean, mean - reach, mean + reach, p, power(criterion, error, freedom), [*numbers])


def _verdict(criterion: Criterion, p: float, against: float, criteria: int) -> Verdict:
    """By the p-values of the test for the criterion and of the test against it, one of so many."""
    if p < criterion.alpha:
        return "reproduced"
    return "not reproduced" if against < criterion.alpha / criteria else "undecided"


def _decide_share(criterion: Criterion, numbers: list[float], criteria: int) -> Finding:
    """By the number of ones among values that are 0 or 1."""
    n, ones = len(numbers), round(sum(numbers))
    if any(value not in (0.0, 1.0) for value in numbers):
        raise ValueError(f"criterion {criterion.key}: found {numbers}, allowed: 0 or 1 for a share")
    sides: list[Literal["greater", "less"]] = ["greater", "less"] if criterion.side == "above" else ["less", "greater"]
    p, against = (float(stats.binomtest(ones, n, criterion.bound, side).pvalue) for side in sides)
    verdict = _verdict(criterion, p, against, criteria)
    limits = stats.binomtest(ones, n).proportion_ci(1 - 2 * criterion.alpha, method="exact")
    chance = _share_power(criterion, n)
    return Finding(verdict, ones / n, float(limits.low), float(limits.high), p, chance, [*numbers])


def _share_power(criterion: Criterion, n: int) -> float | None:
    """The probability of a count that shows the effect, if the share is as expected."""
    if criterion.expected is None:
        return None
    side: Literal["greater", "less"] = "greater" if criterion.side == "above" else "less"
    enough = [k for k in range(n + 1) if stats.binomtest(k, n, criterion.bound, side).pvalue < criterion.alpha]
    return float(sum(stats.binom.pmf(k, n, criterion.expected) for k in enough))


def power(criterion: Criterion, error: float, freedom: int) -> float | None:
    """The probability of «reproduced» if the effect is as large as expected; None if no size is expected."""
    if criterion.expected is None:
        return None
    sign = 1.0 if criterion.side == "above" else -1.0
    distance = sign * (criterion.expected - criterion.bound)
    if error == 0:
        return float(distance > 0)
    limit = float(stats.t.ppf(1 - criterion.alpha, freedom))
    found = float(stats.nct.sf(limit, freedom, distance / error))
    # SciPy's noncentral t is NaN far out, where the normal's tail is 0 or 1.
    return found if math.isfinite(found) else float(stats.norm.sf(limit - distance / error))


def combine_criteria(findings: Sequence[Finding]) -> Verdict:
    """The verdict on a claim: reproduced if all criteria are, not reproduced if one is not."""
    verdicts = [finding.verdict for finding in findings]
    if "not reproduced" in verdicts:
        return "not reproduced"
    return "undecided" if "undecided" in verdicts else "reproduced"


def combine_sets(first: Verdict, again: Verdict | None) -> Verdict:
    """The verdict of two sets of seeds: undecided unless they agree; of one set, its own."""
    return first if again in (None, first) else "undecided"


def _mean(numbers: list[float]) -> float:
    # Of equal values the value itself: a sum that is divided may be off by a rounding, which could decide.
    return numbers[0] if len(set(numbers)) == 1 else math.fsum(numbers) / len(numbers)


def _error(numbers: list[float]) -> float:
    """The standard error of the mean."""
    mean, n = _mean(numbers), len(numbers)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in numbers) / (n - 1) / n)
