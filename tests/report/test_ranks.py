"""Ranks and probabilities of improvement: by hand, against SciPy, and whether their intervals hold what is printed."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from ebmbench.report.statistics.ranks import Array, improvement, mean_ranks, seed_ranks, ties

INF = float("inf")
# Two tasks, three seeds, three methods; on the second task one run of the third method diverged.
LOSSES = np.array([[[1.0, 2, 3], [1, 2, 3], [2, 1, 3]], [[5.0, 5, 9], [4, 5, INF], [4, 5, 6]]])
# Method b is always two places behind a, and c varies in between.
CLEAR = np.array([[[1.0, 4, 2], [1, 4, 3], [1, 4, 0.5]]] * 3)


def drawn(seed: int, tasks: int = 2, seeds: int = 4, methods: int = 5) -> Array:
    """Losses with equal ones and infinite ones among them."""
    values = np.random.default_rng(seed).integers(0, 6, size=(tasks, seeds, methods)).astype(float)
    return np.where(values == 5, INF, values)


def test_ranks_by_hand() -> None:
    expected = [[(1 + 1.5) / 2, (2 + 1.5) / 2, 3], [1, 2, 3], [1.5, 1.5, 3]]
    assert seed_ranks(LOSSES).tolist() == expected
    assert mean_ranks(LOSSES).mean.tolist() == pytest.approx([1.25, 1.75, 3])


def test_the_interval_by_hand() -> None:
    # Means over tasks 1.25, 1, 1.5: variance 1/16; two tasks share the rounding; t(0.975, 2) = 4.303.
    half = 4.30265 * np.sqrt((1 / 16 + 1 / 24) / 3)
    ranks = mean_ranks(LOSSES)
    assert ranks.half[0] == pytest.approx(half, rel=1e-5)
    assert (ranks.low[0], ranks.high[0]) == pytest.approx((1.0, 1.25 + half), rel=1e-5)
    assert ranks.high[2] == 3.0


@pytest.mark.parametrize("seed", range(5))
def test_ranks_of_a_run_are_scipys_and_sum_to_the_same(seed: int) -> None:
    losses = drawn(seed)
    by_hand = [np.mean([stats.rankdata(task[row]) for task in losses], axis=0) for row in range(losses.shape[1])]
    assert np.allclose(seed_ranks(losses), by_hand)
    assert mean_ranks(losses).mean.sum() == pytest.approx(5 * 6 / 2)


def test_runs_without_a_value_are_last_and_share_it() -> None:
    assert seed_ranks(np.array([[[INF, 3.0, INF, 1e300]]])).tolist() == [[3.5, 1, 3.5, 2]]


@pytest.mark.parametrize("seed", range(5))
def test_the_probability_of_improvement_is_mann_and_whitneys(seed: int) -> None:
    losses = drawn(seed)
    found = improvement(losses).mean
    for a, b in product(range(5), repeat=2):
        # U counts the pairs in which the first sample is larger: here the loss of b.
        wins = [stats.mannwhitneyu(task[:, b], task[:, a]).statistic / 4**2 for task in losses]
        assert found[a, b] == pytest.approx(np.mean(wins))


def test_the_probability_of_improvement_by_hand() -> None:
    # First 1, 1, 2 against 2, 2, 1: each 1 wins two and shares one, 2 shares two. Then 5, 4, 4 against 5, 5, 5.
    first, second = (2.5 + 2.5 + 1) / 9, (1.5 + 3 + 3) / 9
    assert improvement(LOSSES).mean[0, 1] == pytest.approx((first + second) / 2)
    assert improvement(LOSSES).mean[0, 2] == 1.0


def test_improvements_of_one_over_the_other_add_up_to_one_with_equal_intervals() -> None:
    found = improvement(drawn(3))
    assert np.allclose(found.mean + found.mean.T, 1)
    assert np.allclose(found.half, found.half.T)
    assert np.allclose(found.low + found.high.T, 1)


def test_the_interval_of_an_improvement_is_that_of_the_jackknife() -> None:
    # Leaving out a seed of both methods changes P by its share, up to a factor of n/(n−1) and a term of order 1/n².
    seeds = 200
    losses = np.random.default_rng(0).normal([0.0, 0.5], size=(2, seeds, 2))
    without = [improvement(np.delete(losses, seed, axis=1)).mean[0, 1] for seed in range(seeds)]
    jackknife = (seeds - 1) * np.std(without, ddof=1) / np.sqrt(seeds)
    plain = np.sqrt((improvement(losses).half[0, 1] / stats.t.ppf(0.975, seeds - 1)) ** 2 - 1 / (24 * 2 * seeds))
    assert plain == pytest.approx(jackknife, rel=0.02)


def test_a_tie_is_with_the_best_and_who_is_in_between_may_tie() -> None:
    assert ties(CLEAR).tolist() == [True, False, True]
    assert ties(CLEAR[:, :, [1, 2, 0]]).tolist() == [False, True, True]


def test_one_place_on_three_seeds_of_one_task_is_no_difference_and_on_two_tasks_it_is() -> None:
    one = np.array([[[1.0, 2.0]] * 3])
    assert ties(one).tolist() == [True, True]
    assert ties(np.concatenate([one, one])).tolist() == [True, False]


def test_seven_methods_in_one_order_leave_from_the_last_upwards() -> None:
    # 7, 6, … 3 methods differ by 6, 5, … 2 places on three seeds; allowed are 5.2, 4.4, 3.5, 2.7, 1.9 (Nemenyi 1963).
    order = np.array([[np.arange(7.0)] * 3])
    assert ties(order).tolist() == [True, True, *[False] * 5]
    assert ties(np.concatenate([order, order])).tolist() == [True, *[False] * 6]


def test_a_method_that_is_first_or_last_by_chance_is_harder_to_tell_apart() -> None:
    # Mean ranks differ by 1.2 on ten seeds; allowed are 1.05 by the variance of equal methods and 1.25 by that seen.
    two_faced = np.array([[[1.0, 2, 3]] * 8 + [[3.0, 2, 1]] * 2])
    assert ties(two_faced).tolist() == [True, True, True]
    steady = np.array([[[1.0, 2, 3]] * 4 + [[1.0, 3, 2]] * 4 + [[2.0, 1, 3], [2.0, 3, 1]]])
    assert ties(steady).tolist() == [True, False, False]


def test_the_order_of_methods_and_of_seeds_does_not_matter() -> None:
    losses, other = drawn(4), [3, 0, 4, 1, 2]
    assert np.allclose(mean_ranks(losses[:, :, other]).half, mean_ranks(losses).half[other])
    assert np.allclose(mean_ranks(losses[:, [2, 0, 3, 1]]).half, mean_ranks(losses).half)
    assert np.allclose(improvement(losses[:, [2, 0, 3, 1]]).half, improvement(losses).half)


def test_agreeing_seeds_are_no_certainty_and_more_of_them_are_more() -> None:
    halves = [float(mean_ranks(np.array([[[1.0, 2.0]] * seeds])).half[0]) for seeds in (3, 5, 10, 100)]
    assert halves == sorted(halves, reverse=True)
    assert halves[0] > 0.7
    assert halves[-1] < 0.06
