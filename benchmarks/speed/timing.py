"""Timing: several contenders do one piece of work, each once a round, in an order that rotates.

A measurement does as many units of work as take at least `LEAST` seconds. Finding this number for each contender is
the warm-up. Python's garbage collector is off while the clock runs, as in `timeit`.

On a shared machine the speed of everything drifts together. So ratios are taken within a round, where both times were
measured a moment apart: the drift cancels.
"""

import gc
import math
import time
from collections.abc import Callable, Sequence

LEAST = 0.05
MOST_GROWTH = 10

Work = Callable[[int], object]
"""Does so many units of the work."""
Clock = Callable[[], float]


def time_in_turns(works: dict[str, Work], rounds: int, clock: Clock = time.perf_counter) -> dict[str, list[float]]:
    """Seconds per unit, by contender, one for each round."""
    units = {name: find_units(work, clock) for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name in rotate(list(works), number):
            times[name].append(time_work(works[name], units[name], clock) / units[name])
    return times


def find_units(work: Work, clock: Clock = time.perf_counter) -> int:
    """How many units take `LEAST` seconds; the work is warm afterwards."""
    work(1)
    units = 1
    while (seconds := time_work(work, units, clock)) < LEAST:
        growth = 1.1 * LEAST / max(seconds, 1e-9)
        units = math.ceil(units * min(MOST_GROWTH, max(1.5, growth)))
    return units


def rotate(names: Sequence[str], number: int) -> list[str]:
    """The names in the order of round `number`: whoever is first in one round is last in the next."""
    start = number % len(names)
    return [*names[start:], *names[:start]]


def time_work(work: Work, units: int, clock: Clock = time.perf_counter) -> float:
    """Seconds that so many units take."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        work(units)
        return clock() - start
    finally:
        gc.enable()
