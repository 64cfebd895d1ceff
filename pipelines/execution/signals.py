"""Why a run ends before its time: Ctrl-C, SIGTERM, or a cancellation in Prefect. All three stop it in the same way."""

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
    """SIGTERM. Whatever is done on Ctrl-C is to be done on it too, so it is one."""


def exit_code_of_stop(stopped: str) -> int:
    """What the command ends with; a cancelled run was stopped by its user, if from elsewhere."""
    return _EXIT_SIGTERM if stopped == BY_SIGTERM else EXIT_STOPPED


def named(interrupt: KeyboardInterrupt) -> str:
    """Which of the two signals it was."""
    return BY_SIGTERM if isinstance(interrupt, Terminated) else BY_USER


@contextmanager
def sigterm_stops() -> Iterator[None]:
    """While the block runs SIGTERM raises `Terminated`; only the main thread can ask for that."""
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
