"""What the speed page is made of: sections, Markdown tables, and numbers with their spread."""

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

NONE = "–"
START = time.monotonic()


@dataclass(frozen=True)
class Section:
    """A part of the page; `headline` is the one sentence of it that the page opens with, if it has one."""

    title: str
    text: str
    headline: str = ""


class Spread(NamedTuple):
    """A median between its quartiles."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        """For a table, with two decimals."""
        return f"**{self.median:.2f}** ({self.low:.2f}–{self.high:.2f})"


def spread(values: Sequence[float]) -> Spread:
    """Quartiles by linear interpolation; of a single value, that value."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The ratio of two series of times, round by round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first columns are words and whose others are numbers."""
    rule = [":---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def format_time(seconds: float) -> str:
    """Three digits, in µs, ms or s."""
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-4 else (1e6, "µs")
    return f"{factor * seconds:.3g} {unit}"


def format_seconds(seconds: float) -> str:
    """Seconds of a whole run: whole ones from 100 on, tenths below."""
    return f"{seconds:.0f}" if seconds >= 99.95 else f"{seconds:.1f}"


def format_range(values: Sequence[float]) -> str:
    """The median with the smallest and the largest."""
    return f"{statistics.median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def show_progress(line: str) -> None:
    """Print a line of progress to stderr, with the minutes since the start."""
    minutes, seconds = divmod(int(time.monotonic() - START), 60)
    sys.stderr.write(f"[{minutes:3d}:{seconds:02d}] {line}\n")  # at once: two runs may report at the same time
    sys.stderr.flush()
