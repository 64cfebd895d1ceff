"""DVC as a command: how it is called, in which environment, and how its errors read.

The command line is DVC's stable interface, and a command can be stopped; its Python API offers neither.
Any other `dvc` in the workspace may make a call fail for a moment, so questions are asked again for a while.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from ebmbench.core.errors import UserError

DVC = (sys.executable, "-m", "dvc")
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0

# dvc/lock.py (the whole repository) and dvc/rwlock.py (one path); `--wait-for-lock` waits only for the first.
_LOCK_ERRORS = ("Unable to acquire lock", "is busy, it is being blocked by")


def is_lock_error(text: str) -> bool:
    """Whether DVC failed only because another `dvc` was at work."""
    return any(error in text for error in _LOCK_ERRORS)


def environment() -> dict[str, str]:
    """Stage commands say `python`, so this one comes first; one thread per stage; no phoning home."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    own = {
        "PATH": os.pathsep.join(folders),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8:backslashreplace",  # logs are read as UTF-8, and a name must not end a stage
        "DVC_NO_ANALYTICS": "1",
    }
    return {**os.environ, **own}


def ask(root: Path, *question: str, patience: float = PATIENCE_SECONDS) -> str:
    """What `dvc <question>` prints; a `UserError` with DVC's own words if it fails."""
    give_up = time.monotonic() + patience
    while True:
        answer = subprocess.run(
            [*DVC, *question],
            cwd=root,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if answer.returncode == 0:
            return answer.stdout
        if not is_lock_error(answer.stderr) or time.monotonic() > give_up:
            raise _refusal(question[0], answer.stderr)
        time.sleep(PAUSE_SECONDS)


def _refusal(command: str, stderr: str) -> UserError:
    said = " ".join(stderr.replace("ERROR:", " ").split()) or "no message"
    if is_lock_error(stderr):
        return UserError(f"another dvc command is at work here; try again when it has ended (dvc: {said})")
    # Without its lock DVC finds every stage changed, and work/ and the run-cache still have what they made.
    hint = "; take it from Git again (`git checkout dvc.lock`) or remove it" if "dvc.lock" in said else ""
    return UserError(f"dvc {command} failed: {said}{hint}")
