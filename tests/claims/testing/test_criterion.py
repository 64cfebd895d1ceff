"""Criteria against simulation, against SciPy's own test, and at the ends of what can be put in."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from ebmbench.claims.testing.criterion import Criterion, Finding, Verdict, combine_criteria, decide_criterion, power

SIDES = pytest.mark.parametrize("side", ["above", "below"])


def rule(side: str = "above", bound: float = 0.0, **more: object) -> Criterion:
    return Criterion("x", "a number", side, bound, **more)  # type: ignore[arg-type]


def verdicts(criterion: Criterion, mean: float, n: int, trials: int, criteria: int = 1) -> dict[str, float]:
    """How often normal values of that mean and deviation 1 end in each verdict."""
    values = np.random.default_rng(9000).normal(mean, 1, (trials, n))
    found = [decide_criterion(criterion, row.tolist(), criteria).verdict for row in values]
    return {verdict: found.count(verdict) / trials for verdict in ("reproduced", "not reproduced", "undecided")}


def within(share: float, trials: int) -> object:
    """Four standard errors of a simulated share."""
    return pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / trials))


def upper_tail(t: float, freedom: int, shift: float) -> float:
    """P(T > t) of a noncentral t, T = (Z + δ)/√(χ²/f), by quadrature over χ: no SciPy formula for it."""

    def integrand(u: float) -> float:
        return float(stats.norm.sf(t * u / math.sqrt(freedom) - shift) * stats.chi.pdf(u, freedom))

    centre, width = math.sqrt(freedom), 12.0
    return float(integrate.quad(integrand, max(0.0, centre - width), centre + width, limit=400, epsabs=1e-12)[0])


@SIDES
@pytest.mark.parametrize("n", [2, 5, 12])
def test_at_the_bound_an_effect_is_shown_with_probability_alpha_and_refuted_with_its_share(side: str, n: int) -> None:
    trials, alpha = 1500, 0.05
    found = verdicts(rule(side, 1.0, alpha=alpha), 1.0, n, trials, criteria=4)
    assert found["reproduced"] == within(alpha, trials)
    assert found["not reproduced"] == within(alpha / 4, trials)


def test_of_several_criteria_that_all_hold_one_is_refuted_with_probability_alpha_at_most() -> None:
    """Each at its bound, the worst case; independent of one another."""
    generator, trials, alpha, m = np.random.default_rng(9001), 1000, 0.05, 3
    criterion, refuted = rule(alpha=alpha), 0
    for _ in range(trials):
        findings = [decide_criterion(criterion, generator.normal(0, 1, 6).tolist(), m) for _ in range(m)]
        refuted += combine_criteria(findings) == "not reproduced"
    assert refuted / trials < alpha + 4 * math.sqrt(alpha * (1 - alpha) / trials)
    assert refuted / trials == within(1 - (1 - alpha / m) ** m, trials)


@SIDES
@pytest.mark.parametrize(("n", "effect"), [(3, 2.0), (5, 1.5), (10, 1.2)])
def test_the_power_is_how_often_the_effect_is_shown(side: str, n: int, effect: float) -> None:
    trials, sign = 1500, 1 if side == "above" else -1
    criterion = rule(side, 0.5, expected=0.5 + sign * effect, alpha=0.05)
    told = power(criterion, 1 / math.sqrt(n), n - 1)
    assert told is not None
    assert 0.1 < told < 0.99
    plain = rule(side, 0.5, alpha=0.05)  # without the power that nobody asks for here
    assert verdicts(plain, 0.5 + sign * effect, n, trials)["reproduced"] == within(told, trials)


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 19])
@pytest.mark.parametrize("shift", [-30.0, -3.0, 0.0, 0.5, 2.0, 5.0, 12.0, 36.0, 40.0, 100.0])
def test_the_power_is_the_tail_of_a_noncentral_t_however_far_out(freedom: int, shift: float) -> None:
    criterion = rule(expected=shift)
    limit = float(stats.t.ppf(1 - criterion.alpha, freedom))
    assert power(criterion, 1.0, freedom) == pytest.approx(upper_tail(limit, freedom, shift), abs=2e-6)


@pytest.mark.parametrize("error", [1e-300, 1e-30, 1e-12, 1e-3, 1.0, 1e12, 1e300])
def test_a_power_is_a_probability_whatever_the_error(error: float) -> None:
    for expected in (1.0, 0.0, -1.0):
        told = power(rule(expected=expected), error, 4)
        assert told is not None
        assert 0 <= told <= 1
    if error < 0.01:
        assert power(rule(expected=1.0), error, 4) == pytest.approx(1, abs=1e-6)
        assert power(rule(expected=-1.0), error, 4) == pytest.approx(0, abs=1e-6)


@SIDES
def test_the_test_and_its_limits_are_students(side: str) -> None:
    generator, alternative = np.random.default_rng(9002), "greater" if side == "above" else "less"
    for n in (2, 3, 7, 30):
        values = generator.normal(0.4, 2.0, n)
        found = decide_criterion(rule(side, 0.3), values.tolist())
        assert found.p == pytest.approx(stats.ttest_1samp(values, 0.3, alternative=alternative).pvalue, rel=1e-9)
        interval = stats.ttest_1samp(values, 0.3).confidence_interval(0.98)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


@SIDES
def test_the_verdict_is_what_the_limits_say(side: str) -> None:
    generator = np.random.default_rng(9003)
    for _ in range(200):
        found = decide_criterion(rule(side, 0.0), generator.normal(generator.normal(0, 1.5), 1, 4).tolist())
        assert found.low is not None
        assert found.high is not None
        shown, refuted = (found.low > 0, found.high < 0) if side == "above" else (found.high < 0, found.low > 0)
        assert found.verdict == ("reproduced" if shown else "not reproduced" if refuted else "undecided")


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e-300, -0.7, 123456.789])
@pytest.mark.parametrize("n", [2, 3, 6, 7, 10, 49])
def test_values_that_are_all_equal_leave_nothing_to_chance(value: float, n: int) -> None:
    little = 1e-9 * abs(value)
    for side, sign in [("above", 1), ("below", -1)]:
        assert decide_criterion(rule(side, value - sign * little), [value] * n).verdict == "reproduced"
        assert decide_criterion(rule(side, value + sign * little), [value] * n, 5).verdict == "not reproduced"
    found = decide_criterion(rule(bound=value - 1, expected=value), [value] * n)
    assert found.power == pytest.approx(1)
    assert found.low == pytest.approx(value, abs=1e-12 * max(1, abs(value)))


def test_equal_values_on_the_bound_decide_nothing() -> None:
    assert decide_criterion(rule(bound=123456.789), [123456.789] * 10).verdict == "undecided"


def test_two_values_are_enough_and_one_is_not() -> None:
    """With one degree of freedom t is Cauchy's: two values 1 ± d lie above 0 at level 0.01 if d < 1/31.82."""
    assert decide_criterion(rule(), [1 - 0.031, 1 + 0.031]).verdict == "reproduced"
    assert decide_criterion(rule(), [1 - 0.032, 1 + 0.032]).verdict == "undecided"
    with pytest.raises(ValueError, match="two seeds or more, found 1"):
        decide_criterion(rule(), [1.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("exact", [False, True])
def test_a_value_that_is_no_number_decides_nothing_and_says_so(bad: float, exact: bool) -> None:
    found = decide_criterion(rule(exact=exact, expected=1.0), [5.0, bad, 6.0])
    assert found.verdict == "undecided"
    assert found.values == [5.0, None, 6.0]
    assert found.note == "1 of 3 seeds gave no number"
    assert (found.mean, found.low, found.high, found.p, found.power) == (None,) * 5


@SIDES
def test_an_exact_criterion_is_met_by_every_seed_or_by_none(side: str) -> None:
    sign = 1 if side == "above" else -1
    criterion = rule(side, 0.0, exact=True)
    assert decide_criterion(criterion, [sign * 1e-12, sign * 5.0]).verdict == "reproduced"
    assert decide_criterion(criterion, [sign * 1e9, -sign * 1e-12]).verdict == "not reproduced"
    assert decide_criterion(criterion, [sign * 1.0]).verdict == "reproduced"


def test_a_published_number_is_met_by_every_seed_or_by_none() -> None:
    criterion = rule("within", 3.0, exact=True, published=-142.5)
    assert criterion.rule == "within 3 of -142.5 (at every seed)"
    assert decide_criterion(criterion, [-139.5, -145.5, -142.0]).verdict == "reproduced"
    for outside in (-139.4, -145.6, 142.5):
        assert decide_criterion(criterion, [-142.0, outside]).verdict == "not reproduced"


def test_an_exact_criterion_is_not_met_on_its_bound() -> None:
    assert decide_criterion(rule("above", 1.0, exact=True), [1.0, 2.0]).verdict == "not reproduced"


def test_nor_is_one_that_asks_for_less() -> None:
    assert decide_criterion(rule("below", 1.0, exact=True), [1.0, 0.5]).verdict == "not reproduced"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "undecided"], "undecided"),
        (["undecided", "not reproduced"], "not reproduced"),
        (["reproduced", "not reproduced"], "not reproduced"),
    ],
)
def test_all_must_be_reproduced_and_one_refuted_refutes(given: list[Verdict], verdict: Verdict) -> None:
    findings = [Finding(one, None, None, None, None, None, []) for one in given]
    assert combine_criteria(findings) == verdict


@pytest.mark.parametrize(
    ("ones", "verdict"),
    [(8, "reproduced"), (7, "undecided"), (4, "undecided"), (1, "undecided"), (0, "not reproduced")],
)
def test_a_share_is_decided_by_the_binomial_and_not_by_a_deviation_that_may_be_zero(ones: int, verdict: str) -> None:
    criterion = Criterion("k", "a share", "above", 0.5, expected=0.9, share=True)
    found = decide_criterion(criterion, [1.0] * ones + [0.0] * (8 - ones))
    assert found.verdict == verdict
    assert found.p == pytest.approx(sum(math.comb(8, k) for k in range(ones, 9)) / 256)
    assert found.power == pytest.approx(0.9**8)  # eight of eight are needed
    assert found.low <= found.mean <= found.high


def test_a_share_of_few_mirrors_one_of_many() -> None:
    criterion = Criterion("k", "a share", "below", 0.5, expected=0.1, share=True)
    found = decide_criterion(criterion, [0.0] * 8)
    assert (found.verdict, found.p) == ("reproduced", pytest.approx(1 / 256))
    assert decide_criterion(criterion, [1.0] * 8, criteria=2).verdict == "not reproduced"
    with pytest.raises(ValueError, match="0 or 1"):
        decide_criterion(criterion, [0.5] * 8)


@pytest.mark.parametrize(
    ("side", "bound", "logarithm", "words"),
    [
        ("above", math.log(2), "ratio", "more than twice"),
        ("above", 0.693, "ratio", "more than twice"),
        ("above", 4.605, "ratio", "more than 100 times"),
        ("above", -0.693, "ratio", "more than half"),
        ("below", -math.log(3), "ratio", "less than a third"),
        ("below", -2.303, "ratio", "less than 1/10"),
        ("below", -math.log(1.1), "ratio", "less than 0.909 times"),
        ("below", math.log(3), "number", "below 3"),
        ("below", 1.001, "", "below 1.001"),
        ("below", -0.025, "", "below -0.025"),
    ],
)
def test_the_rule_of_a_logarithm_is_told_as_a_factor_or_number(
    side: str, bound: float, logarithm: str, words: str
) -> None:
    assert rule(side, bound, logarithm=logarithm).rule == f"{words} (one-sided t over seeds, α = 0.01)"
    assert rule(side, bound, logarithm=logarithm, exact=True).rule == f"{words} (at every seed)"


@pytest.mark.parametrize("logarithm", ["", "ratio", "number"])
def test_how_a_statistic_is_told_changes_no_verdict(logarithm: str) -> None:
    values = [0.7, 0.8, 0.75, 0.9]
    assert decide_criterion(rule(bound=0.6, logarithm=logarithm), values) == decide_criterion(rule(bound=0.6), values)
