"""Errors as one line without a traceback, the exit codes of commands, and output streams that never stop the work.

A terminal without UTF-8 gets an escape in place of é. If the reader has gone (`ebmbench run | head -1`, a closed
terminal), the rest of the output is dropped and the work goes on.
"""

import difflib
import errno
import io
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, TextIO

LONGEST = 2000  # characters of a line
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # controls, formats, surrogates, unassigned, separators of lines


class UserError(Exception):
    """A mistake of the user in one line: which file, which key, what was found, what is allowed."""

    exit_code = 2

    def __init__(self, line: str) -> None:
        super().__init__(one_line(line))


def one_line(text: str) -> str:
    """The text as one printable line: text from a file may break lines, reverse the text or move the cursor."""
    text = " ".join(text.splitlines())
    shown = "".join(c if unicodedata.category(c) not in HIDDEN else ascii(c)[1:-1] for c in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def in_words(error: BaseException) -> str:
    """Any other error as one line; a full disk or a missing right by its own name."""
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


def is_debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


def run_command(act: Callable[[], int], hint: str) -> int:
    """Do the work of a command and return its exit code; any error is one line, and `hint` says how to see more."""
    try:
        code = act()
        print(end="", flush=True)  # here, so that a full disk is still reported below
        return code
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped; run again to go on", file=sys.stderr)
        return 130
    except Exception as error:
        if is_debugging():
            raise
        print(f"error: {in_words(error)} ({hint} shows where)", file=sys.stderr)
        return 1


_READER_GONE = (errno.EPIPE, errno.EIO)  # of a pipe, of a terminal


def make_console_safe() -> None:
    """Let both output streams survive characters that their encoding lacks, and a reader that goes away."""
    sys.stdout = _make_safe(sys.stdout, sys.__stdout__)
    sys.stderr = _make_safe(sys.stderr, sys.__stderr__)


def _make_safe(stream: TextIO, own: TextIO | None) -> TextIO:
    """Such a stream to the same file. A stream that replaced the process's own, as in tests, stays."""
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
        """Write as any file does; drop the data if the reader has gone."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _READER_GONE:
                raise
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return super().write(data)
