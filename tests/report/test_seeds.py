"""The statistics of the report against SciPy, and who may be printed in bold."""

import numpy as np
import pytest
from scipy import stats

from ebmbench.report.statistics.seeds import Summary, find_best, find_leaders, half_width, ties_with


def summary(*values: float, runs: int | None = None, direction: str = "lower") -> Summary:
    return Summary(dict(enumerate(values)), len(values) if runs is None else runs, direction)


@pytest.mark.parametrize("values", [[0.1, 0.2], [1.0, 5.0, 2.0], [-3.0, 0.5, 0.2, 9.0, 1.0]])
def test_the_interval_is_scipys(values: list[float]) -> None:
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    half = half_width(values)
    assert half == pytest.approx((high - low) / 2)


def test_one_value_has_no_interval() -> None:
    assert half_width([1.0]) is None
    assert half_width([1.0, float("inf")]) is None


@pytest.mark.parametrize("shift", [0.001, 0.02, 0.05, 0.5])
def test_a_tie_is_what_a_paired_t_test_does_not_reject(shift: float) -> None:
    winner = summary(0.10, 0.20, 0.31, 0.27)
    other = summary(*(winner.values[seed] + shift * scale for seed, scale in enumerate((1, 2, 0.2, 1))))
    test = stats.ttest_rel(np.log(list(other.values.values())), np.log(list(winner.values.values())))
    assert ties_with(other, winner) == (test.pvalue >= 0.05)


@pytest.mark.parametrize("shift", [0.001, 0.02, 0.05, 0.5])
def test_values_that_are_not_all_positive_are_compared_as_they_are(shift: float) -> None:
    winner = summary(-0.10, 0.20, 0.31, 0.27)
    other = summary(*(winner.values[seed] + shift * scale for seed, scale in enumerate((1, 2, 0.2, 1))))
    test = stats.ttest_rel(list(other.values.values()), list(winner.values.values()))
    assert ties_with(other, winner) == (test.pvalue >= 0.05)


def test_pairing_tells_apart_what_separate_intervals_cannot() -> None:
    winner, other = summary(0.1, 1.0, 10.0), summary(0.12, 1.2, 12.1)
    assert not ties_with(other, winner)


def test_a_thousandfold_difference_is_no_tie_because_it_varies() -> None:
    assert not ties_with(summary(1.5, 4.0, 5.5), summary(0.0007, 0.0008, 0.0007))


def test_equal_values_tie_and_a_constant_difference_does_not() -> None:
    winner = summary(1.0, 1.0, 1.0)
    assert ties_with(summary(1.0, 1.0, 1.0), winner)
    assert not ties_with(summary(1.5, 1.5, 1.5), winner)


def test_without_two_common_seeds_nothing_can_be_told_apart() -> None:
    assert ties_with(summary(9.0), summary(1.0, 1.1, 1.2))


def test_the_best_follows_the_direction() -> None:
    low, high = (1.0, 1.1), (2.0, 2.1)
    assert find_best({"a": summary(*low), "b": summary(*high)}) == "a"
    assert find_best({"a": summary(*low, direction="higher"), "b": summary(*high, direction="higher")}) == "b"
    assert find_best({"a": summary(*low, direction=""), "b": summary(*high, direction="")}) is None


def test_a_method_that_lost_a_run_does_not_lead() -> None:
    assert find_leaders({"survivor": summary(0.01, 0.01, runs=3), "whole": summary(1.0, 1.1, 1.2)}) == {"whole"}


def test_with_one_seed_nobody_leads() -> None:
    assert find_leaders({"a": summary(1.0), "b": summary(2.0)}) == set()


def test_a_method_does_not_lose_its_place_for_being_better_on_most_seeds() -> None:
    steady, lucky = summary(*[1.0] * 10), summary(*[0.01] * 9, 11.0)
    assert find_leaders({"steady": steady, "lucky": lucky}) == {"steady", "lucky"}


def test_nobody_counts_as_better_than_the_truth() -> None:
    truth, lost_tail, good = summary(0.0016, 0.0016), summary(0.0004, 0.0003), summary(0.0017, 0.0016)
    methods = {"lost": lost_tail.no_better_than(truth), "good": good.no_better_than(truth)}
    assert find_leaders(methods) == {"lost", "good"}
    assert lost_tail.no_better_than(truth).mean == pytest.approx(0.0016)
