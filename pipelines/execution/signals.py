"""How a run is stopped early: by Ctrl-C, by SIGTERM, or by a cancellation in Prefect."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

BY_USER = "stopped"
BY_SIGTERM = "stopped by SIGTERM"
IN_PREFECT = "cancelled in Prefect"

EXIT_STOPPED = 130  # 128 + SIGINT, as shells have it
_EXIT_SIGTERM = 143  # 128 + SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; a subclass, so that code for Ctrl-C handles it too."""


def stop_exit_code(stopped: str) -> int:
    """The exit code of a run that was stopped in this way."""
    return _EXIT_SIGTERM if stopped == BY_SIGTERM else EXIT_STOPPED


def describe_interrupt(interrupt: KeyboardInterrupt) -> str:
    """`BY_SIGTERM` or `BY_USER`."""
    return BY_SIGTERM if isinstance(interrupt, Terminated) else BY_USER


@contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` while the block runs; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Terminated
