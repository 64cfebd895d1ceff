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
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

GRACE_SECONDS = 3.0
_PATIENCE_SECONDS = 3.0  # DVC holds its lock for a second or so; also while it stores large outputs
_DVC_LOCK = ".dvc/tmp/lock"


def main(pipe: int, command: list[str]) -> int:
    """Run the command in a process group of its own and return its exit code, as a shell would."""
    signal.signal(signal.SIGTERM, _exit)
    # A flow started with `&` ignores SIGINT, and the command would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child = subprocess.Popen(command, process_group=0)
    try:
        threading.Thread(target=_stop_when_closed, args=(pipe, child.pid), daemon=True).start()
        _wait_unreaped(child)
    except SystemExit:
        with _hold_dvc_lock():
            _signal_group(child.pid, signal.SIGKILL)
        raise
    finally:
        _signal_group(child.pid, signal.SIGKILL)  # what the command left in the background
        code = child.wait()
    return code if code >= 0 else 128 - code


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stop_when_closed(pipe: int, group: int) -> None:
    while os.read(pipe, 1):
        pass
    with _hold_dvc_lock():
        _signal_group(group, signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    with _hold_dvc_lock():
        _signal_group(group, signal.SIGKILL)


@contextlib.contextmanager
def _hold_dvc_lock() -> Iterator[None]:
    """Hold the lock of the DVC repository, if there is one; after a few seconds go on without it."""
    try:
        lock = os.open(_DVC_LOCK, os.O_RDWR)
    except OSError:
        yield
        return
    give_up = time.monotonic() + _PATIENCE_SECONDS
    try:
        while not _try_lock(lock) and time.monotonic() < give_up:
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_unreaped(child: subprocess.Popen[bytes]) -> None:
    """Wait, but leave the zombie: while it exists, no other process group can get its number."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    else:
        child.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    # The group may be gone; for a zombie macOS answers "not permitted".
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
