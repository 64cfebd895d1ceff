"""Measuring several contenders at one piece of work, interleaved: each once a round, in an order that rotates.

A measurement does so many units of the work, the same number for all, that the fastest contender takes at least
`LEAST` seconds. Finding that number is the warm-up. Python's collector of cycles is off while the clock runs, as in
`timeit`.
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


def interleaved(works: dict[str, Work], rounds: int, clock: Clock = time.perf_counter) -> dict[str, list[float]]:
    """Seconds per unit, by contender, one for each round."""
    units = enough(works, clock)
    found: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name in rotated(list(works), number):
            found[name].append(timed(works[name], units, clock) / units)
    return found


def enough(works: dict[str, Work], clock: Clock = time.perf_counter) -> int:
    """Units that take the fastest contender `LEAST` seconds; every contender is warm afterwards."""
    units = 1
    while (fastest := min(timed(work, units, clock) for work in works.values())) < LEAST:
        growth = 1.1 * LEAST / max(fastest, 1e-9)
        units = math.ceil(units * min(MOST_GROWTH, max(1.5, growth)))
    return units


def rotated(names: Sequence[str], number: int) -> list[str]:
    """The names in the order of round `number`: whoever is first in one round is last in the next."""
    start = number % len(names)
    return [*names[start:], *names[:start]]


def timed(work: Work, units: int, clock: Clock = time.perf_counter) -> float:
    """Seconds that so many units take."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        work(units)
        return clock() - start
    finally:
        gc.enable()
