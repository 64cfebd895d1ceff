"""The numbers of a finding as a reader sees them."""

from typing import Any


def number(value: float | None) -> str:
    """Three digits that count: 0.0312, 4.1e-07, 1590."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        digits = f"{value:.3g}"
        return digits if "e" not in digits else f"{value:.0f}"
    return f"{value:.1e}"


def found(finding: dict[str, Any]) -> str:
    """Mean and limits, and the note of a finding that has none."""
    if finding["mean"] is None:
        return finding["note"] or "–"
    return f"{number(finding['mean'])} ({number(finding['low'])} … {number(finding['high'])})"


def power(finding: dict[str, Any]) -> str:
    """The power in per cent."""
    return "–" if finding["power"] is None else f"{100 * finding['power']:.0f} %"
