"""One flow at a time per workspace: two would delete each other's outputs.

The lock is the kernel's (`flock`), so it goes with the process that held it, however that ended; the file's
text only tells a second flow who is at work.
"""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ebmbench.errors import UserError
from ebmbench.workspace.layout import RUN_LOCK


class Busy(UserError):
    """Another flow holds the workspace; nothing is wrong with the request, so it ends as a failure does."""

    exit_code = 1


@contextmanager
def only_flow(root: Path, wait: bool = False) -> Iterator[None]:
    """Hold the workspace, if need be after the flow that holds it; without `wait` raise `Busy`, which names it."""
    path = root / RUN_LOCK
    while True:
        _make_ignored(path.parent)
        with path.open("a+", encoding="utf-8") as file:
            _lock(file, fcntl.LOCK_EX, wait)
            if not _is_still(path, file):  # somebody removed it: the next flow makes another
                continue
            file.truncate(0)
            file.write(f"pid {os.getpid()}, started {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            file.flush()
            yield
            return


def no_flow(root: Path, wait: bool = False) -> None:
    """Return when nobody holds the workspace, or raise `Busy`; it is neither held nor written to."""
    if (root / RUN_LOCK).exists():
        with (root / RUN_LOCK).open(encoding="utf-8") as file:
            _lock(file, fcntl.LOCK_SH, wait)


def _make_ignored(folder: Path) -> None:
    """Make a folder that Git ignores, whatever the project's own list says."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _lock(file: TextIO, kind: int, wait: bool) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "a process that has not yet given its number"
        if not wait:
            raise Busy(f"another run is at work in this folder: {holder}; stop it, or --wait for it") from None
        print(f"waiting for another run in this folder: {holder}", file=sys.stderr, flush=True)
        fcntl.flock(file, kind)


def _is_still(path: Path, file: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
