"""Medians with quartiles, of times and of ratios of times.

On a shared machine the speed of everything drifts together. A ratio is therefore taken within each round, where both
times were measured a moment apart, and the median is that of the ratios: the drift cancels.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """A median between its quartiles."""

    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Quartiles by linear interpolation; of a single value, that value."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Of two contenders, round by round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])
