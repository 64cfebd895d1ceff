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
_TABLE_ERROR = "Unable to read RWLock-file"
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
        code, said, complaint = _call(root, question)
        if code == 0:
            return said
        if _mended(root, complaint):
            continue
        if not is_lock_error(complaint) or time.monotonic() > give_up:
            raise _refusal(question[0], complaint)
        time.sleep(PAUSE_SECONDS)


def _call(root: Path, question: tuple[str, ...]) -> tuple[int, str, str]:
    """Exit code, output and errors. Out of reach of a Ctrl-C, and never killed: DVC writes files in place."""
    pipe, command = subprocess.PIPE, [*DVC, *question]
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment(),
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",  # whatever the locale
        errors="replace",
        start_new_session=True,
    ) as process:
        said, complaint = process.communicate()
    return process.returncode, said, complaint


def _mended(root: Path, complaint: str) -> bool:
    """Whether DVC's table of locks was half a file, as a power cut leaves it: without it DVC makes a new one."""
    table = root / ".dvc" / "tmp" / "rwlock"
    if _TABLE_ERROR not in complaint or not table.exists():
        return False
    table.unlink(missing_ok=True)
    return True


def _refusal(command: str, stderr: str) -> UserError:
    said = " ".join(stderr.replace("ERROR:", " ").split()) or "no message"
    if is_lock_error(stderr):
        return UserError(f"another dvc command is at work here; try again when it has ended (dvc: {said})")
    # Without its lock DVC finds every stage changed, and work/ and the run-cache still have what they made.
    hint = "; take it from Git again (`git checkout dvc.lock`) or remove it" if "dvc.lock" in said else ""
    return UserError(f"dvc {command} failed: {said}{hint}")
