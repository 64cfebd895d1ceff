"""Words: lists of names, folds, and one sentence in place of several that differ in their numbers only."""

import re
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
HOLE = "\0"
PROTOCOL, SETTINGS = "../../../docs/protocol.md", "../../../docs/settings.md"  # from the folder of a report


def list_names(names: Sequence[str]) -> str:
    """`a`, `b` and `c`, as code."""
    return join_words([f"`{name}`" for name in names], "and") or "none"


def join_words(words: Sequence[str], last: str) -> str:
    """`a, b and c`, with any word before the last."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def fold(summary: str, markdown: str) -> str:
    """Markdown that stays closed until the reader opens it; GitHub needs the blank lines."""
    return f"<details>\n<summary>{summary}</summary>\n\n{markdown}\n\n</details>"


def merge_sentences(texts: Iterable[str]) -> list[str]:
    """The different sentences in their order; those that differ in numbers only are one, with ranges: `1.2 to 3.4`."""
    found: dict[str, list[list[str]]] = {}
    for text in texts:
        found.setdefault(mask_numbers(text), []).append(NUMBER.findall(text))
    return [_fill(masked, numbers) for masked, numbers in found.items()]


def mask_numbers(text: str) -> str:
    """The sentence with a hole in place of each number."""
    return NUMBER.sub(HOLE, text)


def _fill(masked: str, numbers: Sequence[Sequence[str]]) -> str:
    first, *rest = masked.split(HOLE)
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    return first + "".join(text + after for text, after in zip(ranges, rest, strict=True))


def _range(values: Sequence[str]) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
