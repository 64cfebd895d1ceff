"""Numbers as text: everything that is compared has the same number of decimals.

A column has three or four decimals, so that its smallest mean has two significant digits. A number that would be
rounded to zero, or that has four digits before the point, is written as a power of ten.
"""

import math
from collections.abc import Iterable

MISSING = "–"
FEWEST, MOST = 3, 4
LARGE = 1000.0
ROUNDING = 1e-9  # smaller numbers are rounding errors around zero


def choose_decimals(values: Iterable[float | None]) -> int:
    """The number of decimals of a column with these means."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    smallest = min((size for size in sizes if size > ROUNDING), default=1.0)
    return max(FEWEST, min(MOST, 1 - math.floor(math.log10(smallest))))


def format_number(value: float | None, places: int) -> str:
    """A number with fixed decimals, or as a power of ten if they would mislead."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return _power(value) if _needs_power(value, places) else _fixed(value, places)


def format_interval(mean: float | None, half: float | None, places: int) -> str:
    """`mean ± half` in the same notation, or the mean alone if there is no interval."""
    text = format_number(mean, places)
    if mean is None or half is None:
        return text
    powers = _needs_power(mean, places) or half >= LARGE
    return f"{text} ± {_power(half) if powers else _fixed(half, places)}"


def format_count(value: float | None) -> str:
    """A whole number, with thin spaces between groups of three digits."""
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
