"""Numbers as text: one number of decimals for everything that is compared, and no digit that hides the size.

The decimals follow from the smallest mean of a column (two significant digits of it, three or four decimals).
What that would round to zero, and what needs four digits before the point, is written as a power of ten.
"""

import math
from collections.abc import Iterable

MISSING = "–"
FEWEST, MOST = 3, 4
LARGE = 1000.0
ROUNDING = 1e-9  # what is smaller is the arithmetic's noise around zero


def decimals(values: Iterable[float | None]) -> int:
    """How many decimals a column with these means gets."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    smallest = min((size for size in sizes if size > ROUNDING), default=1.0)
    return max(FEWEST, min(MOST, 1 - math.floor(math.log10(smallest))))


def number(value: float | None, places: int) -> str:
    """A number with fixed decimals, in powers of ten where they would mislead."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return _power(value) if _needs_power(value, places) else _fixed(value, places)


def spread(mean: float | None, half: float | None, places: int) -> str:
    """`mean ± half` in the same notation, or the mean alone when there is no interval."""
    text = number(mean, places)
    if mean is None or half is None:
        return text
    powers = _needs_power(mean, places) or half >= LARGE
    return f"{text} ± {_power(half) if powers else _fixed(half, places)}"


def count(value: float | None) -> str:
    """A whole number with thin groups of three."""
    return MISSING if value is None or math.isnan(value) else f"{round(value):,}".replace(",", "\u202f")


def plural(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _needs_power(value: float, places: int) -> bool:
    vanishes = ROUNDING < abs(value) < 0.5 * 10.0**-places
    return vanishes or abs(value) >= LARGE


def _fixed(value: float, places: int) -> str:
    # Adding 0.0 turns a rounded −0 into 0.
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")


def _power(value: float) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")
