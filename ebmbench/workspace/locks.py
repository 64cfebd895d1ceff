"""Locks between processes.

All of them are the system's (`flock`, through filelock), so a lock ends with the process that held it, however that
ended. A lock file is never removed; what it holds is only for people to read.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from filelock import FileLock, Timeout, lock_descriptor

from ebmbench.errors import UserError
from ebmbench.workspace.layout import RUN_LOCK

_POLL_SECONDS = 0.2


class Busy(UserError):
    """Another run holds the workspace. The request was right, so the exit code is that of a failure."""

    exit_code = 1


@contextmanager
def hold(path: Path, refusal: str | None = None) -> Iterator[None]:
    """Hold a lock. If another process has it: raise the refusal as a `UserError`, or without one wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False, fallback_to_soft=False, poll_interval=_POLL_SECONDS)
    try:
        lock.acquire(blocking=refusal is None)
    except Timeout:
        raise UserError(refusal or "") from None
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether a process holds a lock. The file is neither made nor written to."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that ask at once do not see each other
        except BlockingIOError:
            return True
    return False


@contextmanager
def hold_workspace(root: Path, wait: bool = False) -> Iterator[None]:
    """Hold the workspace: two runs would delete each other's outputs. Without `wait` a second one raises `Busy`."""
    path = root / RUN_LOCK
    while True:
        _make_ignored(path.parent)
        with path.open("a+", encoding="utf-8") as file:
            if not lock_descriptor(file.fileno(), blocking=False):
                _refuse_or_wait(path, wait)
                lock_descriptor(file.fileno(), poll_interval=_POLL_SECONDS)
            if not _is_still(path, file):  # somebody removed it: the next run makes another
                continue
            file.truncate(0)
            file.write(f"pid {os.getpid()}, started {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            file.flush()
            yield
            return


def require_idle(root: Path, wait: bool = False) -> None:
    """Return when no run holds the workspace; without `wait` raise `Busy` if one does."""
    path = root / RUN_LOCK
    if is_held(path):
        _refuse_or_wait(path, wait)
        while is_held(path):
            time.sleep(_POLL_SECONDS)


def _refuse_or_wait(path: Path, wait: bool) -> None:
    """Say who holds the workspace: as an error, or before waiting."""
    holder = ""
    with contextlib.suppress(OSError):  # somebody may remove it in this moment
        holder = path.read_text(encoding="utf-8").strip()
    holder = holder or "a process that has not yet given its number"
    if not wait:
        raise Busy(f"another run is at work in this folder: {holder}; stop it, or --wait for it")
    print(f"waiting for another run in this folder: {holder}", file=sys.stderr, flush=True)


def _make_ignored(folder: Path) -> None:
    """Make a folder that Git ignores, whatever the project's own list says."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _is_still(path: Path, file: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
