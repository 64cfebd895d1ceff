"""What is printed must not break what prints it: a terminal that knows no UTF-8 gets an escape in place of é."""

import contextlib
import io
import os
import sys

DEBUG = "EBMBENCH_DEBUG"  # set by --debug, for the stages too, which are processes of their own


def forgiving() -> None:
    """Let both streams write what their encoding lacks as an escape, not as a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def unheard() -> None:
    """Whoever read our output has gone (`ebmbench list | head`): say nothing more, not even while Python ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
