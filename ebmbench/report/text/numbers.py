"""Numbers as text: means with three significant digits, half widths with two, on one line.

Spaces beside ± are non-breaking, so that no entry of a table wraps. Numbers below 0.001 and from 100 000 on are written
as powers of ten. A half width has at most one decimal more than its mean: what is finer cannot be seen beside it.
"""

import math

MISSING = "–"
DIGITS, HALF_DIGITS = 3, 2
SMALL, LARGE = 1e-3, 1e5
ROUNDING = 1e-9  # smaller numbers are rounding errors around zero
PLUS_MINUS = "\u00a0±\u00a0"


def format_number(value: float | None) -> str:
    """A number with three significant digits, or as a power of ten if that would be long."""
    if special := _special(value):
        return special
    assert value is not None
    if abs(value) < ROUNDING:
        return "0"
    return _power(value, DIGITS) if _needs_power(value) else _fixed(value, _decimals(value, DIGITS))


def format_fixed(value: float | None, places: int) -> str:
    """A number with fixed decimals, as ranks and probabilities have."""
    return _special(value) or _fixed(value or 0.0, places)


def format_interval(mean: float | None, half: float | None) -> str:
    """`mean ± half` in the same notation; the mean alone if there is no interval, or if all seeds gave the same."""
    text = format_number(mean)
    if mean is None or half is None or half <= ROUNDING * max(1.0, abs(mean)):
        return text
    if half >= LARGE or (abs(mean) >= ROUNDING and _needs_power(mean)):
        return f"{text}{PLUS_MINUS}{_power(half, HALF_DIGITS)}"
    own = _decimals(half, HALF_DIGITS)
    return f"{text}{PLUS_MINUS}{_fixed(half, own if abs(mean) < ROUNDING else min(own, _decimals(mean, DIGITS) + 1))}"


def format_range(low: float, high: float) -> str:
    """`0.112–0.150`, or `−21.2 to −20.3`: there a dash would look like a sign."""
    return (" to " if min(low, high) < 0 else "–").join(map(format_number, (low, high)))


def format_count(value: float | None) -> str:
    """A whole number, with thin spaces between groups of three digits."""
    return MISSING if value is None or math.isnan(value) else f"{round(value):,}".replace(",", "\u202f")


def plural(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _special(value: float | None) -> str:
    """What is no finite number; else nothing."""
    if value is None or math.isnan(value):
        return MISSING
    return "" if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _needs_power(value: float) -> bool:
    return not SMALL <= abs(value) < LARGE


def _decimals(value: float, digits: int) -> int:
    """The decimals that show so many significant digits; negative for large numbers."""
    return digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])


def _fixed(value: float, places: int) -> str:
    # Adding 0.0 turns a rounded −0 into 0.
    return f"{round(value, places) + 0.0:.{max(places, 0)}f}".replace("-", "−")


def _power(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")
