"""Markdown tables of times and ratios."""

from collections.abc import Mapping, Sequence

from benchmarks.speed.contender import BARE, OURS
from benchmarks.speed.timing import Spread, ratio, spread

NONE = "–"

Times = Mapping[str, Sequence[float]]
"""Seconds per unit by contender, one for each round."""


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first columns are words and whose others are numbers."""
    rule = [":---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def render_times(found: Mapping[tuple[str, str], Times], names: Sequence[str]) -> str:
    """A line for each (row, unit): everybody's time, ours over the bare loop's, and the others' over ours."""
    others = [name for name in names if name not in (OURS, BARE)]
    head = ["", "per", *names, f"{OURS} / {BARE}", *(f"{name} / {OURS}" for name in others)]
    lines = []
    for (row, unit), times in found.items():
        cells = [format_time(spread(times[name])) if name in times else NONE for name in names]
        pairs = [(OURS, BARE), *((name, OURS) for name in others)]
        ratios = [format_ratio(times, above, below) for above, below in pairs]
        lines.append([row, unit, *cells, *ratios])
    return markdown_table(head, lines, left=2)


def format_ratio(times: Times, above: str, below: str) -> str:
    """One contender's time over another's, round by round."""
    if above not in times or below not in times:
        return NONE
    low, middle, high = ratio(times[above], times[below])
    return f"**{middle:.2f}** ({low:.2f}–{high:.2f})"


def format_time(one: Spread) -> str:
    """A median with its quartiles, in µs, ms or s, whichever is readable."""
    factor, unit = (1.0, "s") if one.median >= 1 else (1e3, "ms") if one.median >= 1e-4 else (1e6, "µs")
    low, middle, high = (f"{factor * value:.3g}" for value in one)
    return f"{middle} {unit} ({low}–{high})"
