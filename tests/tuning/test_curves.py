"""Best-of-n curves: the mean over all subsets, of random trials only."""

import itertools
import math
import random
from pathlib import Path
from statistics import fmean

import pytest

from ebmbench.tuning.curves import compute_curves, count_needed, describe_need, draw_curves, expected_best, shown_counts
from ebmbench.tuning.trials import Row

VALUES = [random.Random(0).gauss(0, 1) for _ in range(7)]


@pytest.mark.parametrize("n", range(1, 8))
def test_the_expected_best_is_the_mean_over_all_subsets(n: int) -> None:
    brute = fmean(min(subset) for subset in itertools.combinations(VALUES, n))
    assert expected_best(VALUES, n) == pytest.approx(brute, rel=1e-12)


def test_it_is_unbiased() -> None:
    """Over all samples of four of the seven values its mean is the expected best of two of the seven."""
    estimates = [expected_best(sample, 2) for sample in itertools.combinations(VALUES, 4)]
    assert fmean(estimates) == pytest.approx(expected_best(VALUES, 2), rel=1e-12)


def test_failures_count_until_no_subset_is_all_failures() -> None:
    values = [1.0, 2.0, math.inf, math.inf]
    assert [expected_best(values, n) for n in (1, 2)] == [math.inf, math.inf]
    assert expected_best(values, 3) == pytest.approx(1.25)  # of four subsets one has 2 as its best
    assert expected_best(values, 4) == 1.0


def row(method: str, trial: int, proposal: str, value: float, number: int = 1) -> Row:
    return Row(method, trial, number, proposal, "kl", f"x={trial}", {"d": 1.0}, value, "1", "ok", "", 1)


def test_only_random_trials_of_the_first_round_count() -> None:
    rows = [row("a", 0, "start", -9.0), row("a", 1, "random", 0.0), row("a", 2, "random", 2.0)]
    rows += [row("a", 3, "tpe", -9.0), row("a", 4, "walk", -9.0), row("a", 1, "random", -9.0, number=2)]
    assert compute_curves(rows) == {"a": pytest.approx([math.exp(1.0), 1.0])}
    assert compute_curves([row("a", 0, "", 0.0)]) == {}


def test_the_columns_are_powers_of_two_and_the_last() -> None:
    assert shown_counts({"a": [1.0] * 12, "b": [1.0] * 3}) == [1, 2, 4, 8, 12]
    assert shown_counts({"a": [1.0] * 8}) == [1, 2, 4, 8]
    assert shown_counts({"a": [1.0]}) == [1]


def test_the_sentence_names_who_needs_most_and_fewest_and_who_may_fail() -> None:
    curves = {"a": [8.0, 3.0, 2.0], "b": [2.9, 2.5, 2.0], "c": [math.inf, math.inf, 1.0], "d": [3.1, 3.0, 2.0]}
    assert [count_needed(curve) for curve in curves.values()] == [2, 1, 3, 2]
    text = describe_need(curves)
    assert "`c` needs 3 of them, the most, and `b` 1, the fewest." in text
    assert text.endswith("A random setting of `c` may give no number at all.")
    assert describe_need({"a": [2.0, 1.0]}) == ""
    assert describe_need({"a": [math.inf, math.inf]}) == "A random setting of `a` may give no number at all."


def test_the_figure_is_the_same_bytes_for_the_same_curves(tmp_path: Path) -> None:
    curves = {"mle": [8.0, 2.0], "dsm": [math.inf, 0.1], "ssm": [math.inf, math.inf]}
    for name in ("a.svg", "b.svg"):
        draw_curves(curves, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    draw_curves({**curves, "mle": [8.0, 3.0]}, tmp_path / "c.svg")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "c.svg").read_bytes()
