"""Run a command that never outlives the process that started it: `python guard.py PIPE COMMAND...`.

The starter holds the other end of the pipe. When that end closes, because the starter wants to stop or was killed,
the command and all its children get SIGINT, as from Ctrl-C, and a few seconds later SIGKILL. `prctl(PR_SET_PDEATHSIG)`
would not do: it does not reach the children's children, it fires when the *thread* that started the child ends, and
only Linux has it. This file imports the standard library only, because it must start fast.

DVC writes `dvc.lock` and its lock table in place. If it is stopped while it writes, half a file remains and no `dvc`
command works any more. It writes only while it holds its repository's lock, so the guard takes that lock before it
sends a signal.
"""

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

GRACE_SECONDS = 3.0
PATIENCE_SECONDS = 3.0  # DVC holds its lock for a second or so; also while it stores large outputs
_DVC_LOCK = ".dvc/tmp/lock"


def main(pipe: int, command: list[str]) -> int:
    """Run the command in a process group of its own and return its exit code, as a shell would."""
    os.set_inheritable(pipe, False)
    ignored = [signal.SIGPIPE, signal.SIGXFSZ]  # by Python, and so by what it starts
    return guard(pipe, lambda: os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=ignored))


def guard(pipe: int, start: Callable[[], int]) -> int:
    """Let `start` make a child in a process group of its own, and wait for it; returns its exit code."""
    signal.signal(signal.SIGTERM, _exit)
    # A flow started with `&` ignores SIGINT, and the command would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child, status = start(), None
    try:
        threading.Thread(target=_stop_when_closed, args=(pipe, child), daemon=True).start()
        status = _wait_unreaped(child)
    except SystemExit:
        with hold_dvc_lock():
            _signal_group(child, signal.SIGKILL)
        raise
    finally:
        _signal_group(child, signal.SIGKILL)  # what the command left in the background
        status = os.waitpid(child, 0)[1] if status is None else status
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stop_when_closed(pipe: int, group: int) -> None:
    while os.read(pipe, 1):
        pass
    with hold_dvc_lock():
        _signal_group(group, signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    with hold_dvc_lock():
        _signal_group(group, signal.SIGKILL)


@contextlib.contextmanager
def hold_dvc_lock(folder: str = ".", patience: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Hold the lock of the DVC repository that a folder is in; after a few seconds go on without it.

    Yields whether it is held, or there is none.
    """
    lock = _open_dvc_lock(Path(folder).absolute())
    if lock is None:
        yield True
        return
    give_up = time.monotonic() + patience
    try:
        while not (held := _try_lock(lock)) and time.monotonic() < give_up:
            time.sleep(0.01)
        yield held
    finally:
        os.close(lock)


def _open_dvc_lock(folder: Path) -> int | None:
    """The lock file of the nearest repository above; None if nobody has locked it yet."""
    root = next((place for place in (folder, *folder.parents) if (place / ".dvc").is_dir()), folder)
    try:
        return os.open(root / _DVC_LOCK, os.O_RDWR)
    except OSError:
        return None


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_unreaped(child: int) -> int | None:
    """Wait, but leave the zombie: while it exists, no other process group can get its number.

    Where that is not possible (macOS), the zombie is gone, and this returns its status.
    """
    if not hasattr(os, "waitid"):
        return os.waitpid(child, 0)[1]
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    return None


def _signal_group(group: int, number: signal.Signals) -> None:
    # The group may be gone; for a zombie macOS answers "not permitted".
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
