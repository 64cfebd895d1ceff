"""Do something every few seconds while something else runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread

_LAST_CALL_SECONDS = 2.0  # a call that waits for a server that has gone is not waited for


@contextmanager
def every(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call it in a thread, which sees the context of the caller, until the block is left."""
    done = Event()

    def loop() -> None:
        while not done.wait(seconds):
            call()

    thread = Thread(target=copy_context().run, args=(loop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_LAST_CALL_SECONDS)
