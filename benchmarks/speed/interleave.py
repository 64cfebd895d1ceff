"""Measuring several contenders at one piece of work, interleaved: each once a round, in an order that rotates.

A measurement does so many units of the work that it takes at least `LEAST` seconds. Finding that number, for each
contender its own, is the warm-up. Python's collector of cycles is off while the clock runs, as in
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
    units = {name: enough(work, clock) for name, work in works.items()}
    found: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name in rotated(list(works), number):
            found[name].append(timed(works[name], units[name], clock) / units[name])
    return found


def enough(work: Work, clock: Clock = time.perf_counter) -> int:
    """Units that take `LEAST` seconds; the work is warm afterwards."""
    work(1)
    units = 1
    while (seconds := timed(work, units, clock)) < LEAST:
        growth = 1.1 * LEAST / max(seconds, 1e-9)
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
