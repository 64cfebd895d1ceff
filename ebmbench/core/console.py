"""What is printed must not break what prints it.

A terminal that knows no UTF-8 gets an escape in place of é. Where the reader has gone (`ebmbench run | head -1`, a
terminal that was closed) the rest goes nowhere, and the work goes on.
"""

import errno
import io
import os
import sys
from typing import Any, TextIO

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
