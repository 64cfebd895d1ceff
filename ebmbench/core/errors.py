"""Errors that are the user's to mend: shown as one line, without a traceback, with exit code 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """One clear line: which file, which key, what was found, what is allowed."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """`allowed: a, b, c (did you mean 'a'?)`, the tail only if something is near."""
    options = sorted(allowed)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"allowed: {', '.join(options) or 'nothing'}{hint}"
