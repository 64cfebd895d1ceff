"""Reasons that differ in their numbers only, said once: "is 1.2 to 3.4", not three times nearly the same."""

import re
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
HOLE = "\0"


def merged(texts: Iterable[str]) -> list[str]:
    """The different sentences, in the order in which they first come, each with the range of its numbers."""
    found: dict[str, list[list[str]]] = {}
    for text in texts:
        found.setdefault(shape(text), []).append(NUMBER.findall(text))
    return [_filled(form, numbers) for form, numbers in found.items()]


def shape(text: str) -> str:
    """The sentence with holes in place of its numbers."""
    return NUMBER.sub(HOLE, text)


def _filled(form: str, numbers: Sequence[Sequence[str]]) -> str:
    first, *rest = form.split(HOLE)
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    return first + "".join(text + after for text, after in zip(ranges, rest, strict=True))


def _range(values: Sequence[str]) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
