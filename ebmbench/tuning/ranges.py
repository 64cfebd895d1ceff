"""Ranges of numbers: what comes after a value, also beyond the ends, and why nothing may.

A winner at the end of its range might do better beyond it, and then the range, not the method, has made the ranking.
So a range goes on: by the ratio of its last two values (by their difference if one is not positive), each new value
rounded to as few digits as will do. 0.1, 0.2 → 0.4, and 0.02, 0.05 → 0.1; whole numbers stay whole. It ends where the
space declares a limit, with its reason, or where the method refuses the value.
Words, true and false, and settings that vary together have no order, hence no ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ebmbench.errors import UserError
from ebmbench.tuning.grid import Grid, Setting, is_number

Number = int | float
ROUNDING = 0.4  # of a step; 0.125 after 0.05 is 0.1 then
NO_WHOLE = "no whole number lies beyond"


@dataclass(frozen=True)
class Edge:
    """A setting stands at the first or last value of an axis, or outside: what lies beyond, or why nothing does."""

    axis: str
    value: Number
    beyond: Setting | None
    why: str = ""


def find_edges(grid: Grid, setting: Setting) -> Iterator[Edge]:
    """The ends of ranges that a setting has reached. Values that a search added to a range are beyond its ends."""
    for axis, choices in grid.axes.items():
        if is_range(choices):
            value = setting[axis]
            for up in [up for up in (False, True) if (value >= max(choices) if up else value <= min(choices))]:
                found = move(grid, setting, axis, up)
                yield Edge(axis, value, None, found) if isinstance(found, str) else Edge(axis, value, found)


def neighbours(grid: Grid, setting: Setting) -> Iterator[Setting]:
    """The settings one value away on one axis, also beyond the ends of ranges."""
    for axis in grid.axes:
        for up in (False, True):
            if not isinstance(found := move(grid, setting, axis, up), str):
                yield found


def move(grid: Grid, setting: Setting, axis: str, up: bool) -> Setting | str:
    """The setting with the next value of an axis, or why there is none."""
    choices, value = grid.axes[axis], setting[axis]
    if not is_range(choices):
        place = choices.index(value) + (1 if up else -1)
        return _allowed(grid, {**setting, axis: choices[place]}) if 0 <= place < len(choices) else "the list ends"
    further = next_value(choices, value, up)
    if (limit := grid.limits.get(axis)) and (end := limit.end(up)) is not None:
        if value >= end if up else value <= end:
            return limit.why
        if further is None or (further > end if up else further < end):
            further = int(end) if isinstance(value, int) else end
    return NO_WHOLE if further is None else _allowed(grid, {**setting, axis: further})


def is_range(choices: Sequence[object]) -> bool:
    """Numbers that differ; a single one is no range, and cannot go on."""
    return len(choices) > 1 and all(map(is_number, choices))


def next_value(choices: Sequence[Number], value: Number, up: bool) -> Number | None:
    """The value after this one, upwards or downwards, on a range that goes on beyond its ends; None if it cannot."""
    ladder = {*_reach(choices, value, True), *_reach(choices, value, False)}
    if up:
        return min((other for other in ladder if other > value), default=None)
    return max((other for other in ladder if other < value), default=None)


def _reach(choices: Sequence[Number], value: Number, up: bool) -> list[Number]:
    """The range with as many values above or below it as it takes to have one beyond this value."""
    ladder = sorted(choices, reverse=not up)
    beyond = _continue(*ladder[-2:])
    while (ladder[-1] <= value if up else ladder[-1] >= value) and (further := next(beyond, None)) is not None:
        ladder.append(further)
    return ladder


def _continue(before: Number, last: Number) -> Iterator[Number]:
    """The numbers after two others. Each is rounded for itself, so that roundings do not add up."""
    whole, by_ratio = isinstance(before, int) and isinstance(last, int), before > 0 and last > 0
    exact, shown = float(last), last
    while True:
        step = exact * (last / before - 1) if by_ratio else last - before
        exact += step
        candidates = (float(f"{exact:.{digits}e}") for digits in range(17))
        found = [value for value in candidates if abs(value - exact) <= ROUNDING * abs(step)]
        numbers = [round(value) for value in found] if whole else found
        fit = (value for value in numbers if (value - shown) * step > 0 and (value > 0 or not by_ratio))
        if (following := next(fit, None)) is None:
            return
        yield (shown := following)


def _allowed(grid: Grid, setting: Setting) -> Setting | str:
    """The setting, or the words in which its method refuses it."""
    try:
        grid.settings(setting)
    except UserError as error:
        return f"the method refuses the next: {str(error).partition(': ')[2]}"
    return setting
