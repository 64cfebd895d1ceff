"""One flow at a time per workspace: two would delete each other's outputs.

The lock is the kernel's (`flock`), so it goes with the process that held it, however that ended; the file's
text only tells a second flow who is at work.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ebmbench.core.errors import UserError
from pipelines.workspace import LOCK


@contextmanager
def only_flow(root: Path) -> Iterator[None]:
    """Hold the workspace, or raise a `UserError` that names the process that holds it."""
    path = root / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        _acquire(file)
        yield


def _acquire(file: TextIO) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "a process that has not yet given its number"
        raise UserError(f"another run is at work in this folder: {holder}; wait for it or stop it") from None
    file.truncate(0)
    file.write(f"pid {os.getpid()}, started {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
    file.flush()
