"""The statistics of the report against SciPy."""

import numpy as np
import pytest
from scipy import stats

from ebmbench.report.statistics.seeds import Summary, half_width, paired_differences


@pytest.mark.parametrize("values", [[0.1, 0.2], [1.0, 5.0, 2.0], [-3.0, 0.5, 0.2, 9.0, 1.0]])
def test_the_interval_is_scipys(values: list[float]) -> None:
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    half = half_width(values)
    assert half == pytest.approx((high - low) / 2)


def test_one_value_has_no_interval() -> None:
    assert half_width([1.0]) is None
    assert half_width([1.0, float("inf")]) is None


@pytest.mark.parametrize("least", [0.02, -0.1])
def test_differences_are_of_common_seeds_and_of_logarithms_where_all_values_are_positive(least: float) -> None:
    one, other = Summary({0: least, 1: 0.2, 2: 0.3}, 3, "lower"), Summary({2: 0.5, 0: 0.1, 7: 9.0}, 3, "lower")
    ours, theirs = np.array([least, 0.3]), np.array([0.1, 0.5])
    expected = np.log(ours / theirs) if least > 0 else ours - theirs
    assert np.allclose(paired_differences(one, other), expected)
