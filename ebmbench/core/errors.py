"""Errors that are the user's to mend: shown as one line, without a traceback, with exit code 2."""

import difflib
import unicodedata
from collections.abc import Iterable

LONGEST = 2000  # characters of a line; who reads more of an error?
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # controls, formats, surrogates, unassigned, separators of lines


class UserError(Exception):
    """One clear line: which file, which key, what was found, what is allowed."""

    def __init__(self, line: str) -> None:
        super().__init__(one_line(line))


def one_line(text: str) -> str:
    """As a terminal can be shown it: what a file holds may break lines, turn the text around or move the cursor."""
    text = " ".join(text.splitlines())
    shown = "".join(c if unicodedata.category(c) not in HIDDEN else ascii(c)[1:-1] for c in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def in_words(error: BaseException) -> str:
    """An error that is nobody's mistake, as one line: a full disk or a folder that is read-only by its own name."""
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    if isinstance(error, MemoryError):
        return one_line(f"not enough memory: {error}" if str(error) else "not enough memory")
    return one_line(f"{type(error).__name__}: {' '.join(str(error).split())}")


def nearest(name: str, allowed: Iterable[str]) -> str:
    """`allowed: a, b, c (did you mean 'a'?)`, the tail only if something is near."""
    options = sorted(allowed)
    close = difflib.get_close_matches(name[:100], options, n=1, cutoff=0.5)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"allowed: {', '.join(options) or 'nothing'}{hint}"
