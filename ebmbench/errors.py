"""Errors that are the user's to mend: shown as one line, without a traceback, with exit code 2.

What is printed must not break what prints it.

A terminal that knows no UTF-8 gets an escape in place of é. Where the reader has gone (`ebmbench run | head -1`, a
terminal that was closed) the rest goes nowhere, and the work goes on.
"""

import difflib
import errno
import io
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO

LONGEST = 2000  # characters of a line; who reads more of an error?
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # controls, formats, surrogates, unassigned, separators of lines


class UserError(Exception):
    """One clear line: which file, which key, what was found, what is allowed."""

    exit_code = 2

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


DEBUG = "EBMBENCH_DEBUG"  # set by --debug, for the stages too, which are processes of their own
_READER_GONE = (errno.EPIPE, errno.EIO)  # of a pipe, of a terminal


def forgiving() -> None:
    """Let both streams bear what their encoding lacks, and a reader that goes."""
    sys.stdout = _forgiving(sys.stdout, sys.__stdout__)
    sys.stderr = _forgiving(sys.stderr, sys.__stderr__)


def _forgiving(stream: TextIO, own: TextIO | None) -> TextIO:
    """A stream that does, to the same file; one that somebody put in the place of the process's own is not replaced."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    if stream is not own:
        return stream
    stream.flush()
    file: Any = _Outlet(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        file if isinstance(stream.buffer, io.RawIOBase) else io.BufferedWriter(file),  # PYTHONUNBUFFERED
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Outlet(io.FileIO):
    """A file that becomes /dev/null when its reader has gone, for the processes that inherit it too."""

    def write(self, data: Any, /) -> int:
        """Write what can be written, as any file does, and to a reader that has gone, nothing."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _READER_GONE:
                raise
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return super().write(data)
