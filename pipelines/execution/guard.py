"""Run a command that never outlives whoever asked for it: `python guard.py PIPE COMMAND...`.

The asker holds the other end of the pipe. When that end closes, because the asker wants to stop or because it
was killed in whatever way, the command and all it has started are asked to stop (SIGINT, as Ctrl-C would)
and, a little later, killed. Why not `prctl(PR_SET_PDEATHSIG)`: it reaches the child but not its children, it
fires when the *thread* that started the child ends, and only Linux has it. Standard library only: it must
start fast.

DVC writes `dvc.lock` and its table of locks in place: stopped in the middle it leaves half a file, and no `dvc` command
works any more. It does so only while it holds its repository's lock. Who stops it therefore takes that lock first.
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
    """Run the command in a process group of its own; its exit code, as a shell would give it."""
    signal.signal(signal.SIGTERM, _leave)
    # A flow started with `&` ignores SIGINT, and so would the command, which would then not hear us.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child = subprocess.Popen(command, process_group=0)
    try:
        threading.Thread(target=_stop_when_closed, args=(pipe, child.pid), daemon=True).start()
        _wait_unreaped(child)
    except SystemExit:
        with _dvc_at_rest():
            _signal_group(child.pid, signal.SIGKILL)
        raise
    finally:
        _signal_group(child.pid, signal.SIGKILL)  # whatever the command left behind
        code = child.wait()
    return code if code >= 0 else 128 - code


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stop_when_closed(pipe: int, group: int) -> None:
    while os.read(pipe, 1):
        pass
    with _dvc_at_rest():
        _signal_group(group, signal.SIGINT)
    time.sleep(GRACE_SECONDS)
    with _dvc_at_rest():
        _signal_group(group, signal.SIGKILL)


@contextlib.contextmanager
def _dvc_at_rest() -> Iterator[None]:
    """Hold the lock of the DVC repository here, if there is one, unless it is held by others for too long."""
    try:
        lock = os.open(_DVC_LOCK, os.O_RDWR)
    except OSError:
        yield
        return
    give_up = time.monotonic() + _PATIENCE_SECONDS
    try:
        while not _taken(lock) and time.monotonic() < give_up:
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_unreaped(child: subprocess.Popen[bytes]) -> None:
    """Wait, but leave the zombie: as long as it is there, no other process can get its number as a group."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    else:
        child.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    # All gone already; for a zombie macOS answers "not permitted".
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
