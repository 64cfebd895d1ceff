"""DVC as a command: how it is called, in which environment, and how its errors read.

The command line is DVC's stable interface, and a command can be stopped; its Python API offers neither.
Any other `dvc` in the workspace may make a call fail for a moment, so questions are asked again for a while.

DVC notes in a table which process reads and writes which path. What a killed `dvc` noted stays there, and DVC takes it
as dead only while no process has its number. After a restart, above all of a container, another one soon has:
`mended` tells the two apart.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DVC_LOCK

DVC = (sys.executable, "-m", "dvc")
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0

# dvc/lock.py (the whole repository) and dvc/rwlock.py (one path); `--wait-for-lock` waits only for the first.
_TABLE_ERRORS = ("RWLock-file", "codec can't decode")
_TABLE, _TABLE_LOCK = "rwlock", "rwlock.lock"
_TABLE_SECONDS = 3.0  # DVC holds the table's lock for milliseconds
_CLOCK_SECONDS = 2.0  # by which a process's start and a file's time may be wrong
_LOCK_ERRORS = ("Unable to acquire lock", "is busy, it is being blocked by")


def is_lock_error(text: str) -> bool:
    """Whether DVC failed only because another `dvc` was at work."""
    return any(error in text for error in _LOCK_ERRORS)


def environment() -> dict[str, str]:
    """Stage commands say `python`, so this one comes first; a known shell; one thread per stage; no phoning home."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    own = {
        "PATH": os.pathsep.join(folders),
        "SHELL": "/bin/sh",  # DVC runs commands with it, and a service account's is `nologin`
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
        if mended(root, complaint):
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


def mended(root: Path, complaint: str) -> bool:
    """Whether DVC failed for something in its table that is now gone: half a file, or entries of dead processes."""
    if not is_lock_error(complaint) and not any(error in complaint for error in _TABLE_ERRORS):
        return False
    # As DVC looks for it: the project may be a part of a larger repository.
    folder = next((place / ".dvc/tmp" for place in (root, *root.parents) if (place / ".dvc").is_dir()), root)
    with _table_held(folder) as ours:
        return ours and _mend(folder / _TABLE)


@contextmanager
def _table_held(folder: Path) -> Iterator[bool]:
    """Keep DVC from its table, which it reads and writes under this lock alone; whether that could be had."""
    try:
        # Never made here: with `core.hardlink_lock` the file's mere existence is the lock.
        file = (folder / _TABLE_LOCK).open("r+b")
    except OSError:
        yield (folder / _TABLE).exists()
        return
    give_up = time.monotonic() + _TABLE_SECONDS
    with file:
        while not (ours := lock_descriptor(file.fileno(), blocking=False)) and time.monotonic() < give_up:
            time.sleep(0.01)
        yield ours


def _mend(path: Path) -> bool:
    """Remove a table that is none, as a power cut leaves it, or the entries of processes that are no more."""
    try:
        written, table = path.stat().st_mtime, json.loads(path.read_bytes())
        kept = _without_dead(table, written)
    except FileNotFoundError:
        return False
    except (ValueError, TypeError, KeyError, AttributeError):
        path.unlink(missing_ok=True)  # DVC makes a new one
        return True
    if kept == {"write": {}, "read": {}, **table}:
        return False
    write_text(path, json.dumps(kept))
    return True


def _without_dead(table: dict[str, Any], written: float) -> dict[str, Any]:
    """The table as DVC has it, `{"write": {path: entry}, "read": {path: [entry, ...]}}`, of living processes."""
    write, read = table.get("write", {}), table.get("read", {})
    return {
        "write": {path: entry for path, entry in write.items() if _lives(entry, written)},
        "read": {path: [entry for entry in entries if _lives(entry, written)] for path, entries in read.items()},
    }


def _lives(entry: dict[str, Any], written: float) -> bool:
    """Whether the process that made the entry still runs, not merely one that got its number later.

    The command line decides. Only where it cannot does the time of the start, which is wrong once a clock was set.
    """
    import psutil

    pid, cmd = entry["pid"], entry["cmd"]
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if cmd.partition(" ")[0] in ("", "-c"):  # Python without a file: any may have called DVC
            return bool(process.create_time() <= written + _CLOCK_SECONDS)
        return _is_call(cmd, process.cmdline())
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # another user's, of which no more can be known
        return True


def _is_call(cmd: str, words: list[str]) -> bool:
    """Whether a process with these words as its command line has `cmd` as its `" ".join(sys.argv)`."""
    return any(cmd == " ".join(words[i:]) or cmd.endswith(_calls(words[i:])) for i in range(len(words)))


def _calls(words: list[str]) -> tuple[str, ...]:
    """How `sys.argv` may end: for `python -m dvc` it begins with a file, for a program perhaps with its whole path."""
    module = words[0].removeprefix("-m").replace(".", "/")
    files = (f"/{module}/__main__.py", f"/{module}.py", f"/{Path(words[0]).name}")
    return tuple(" ".join([file, *words[1:]]) for file in files)


def _refusal(command: str, stderr: str) -> UserError:
    said = " ".join(stderr.replace("ERROR:", " ").split()) or "no message"
    if is_lock_error(stderr):
        return UserError(f"another dvc command is at work here; try again when it has ended (dvc: {said})")
    # Without its lock DVC finds every stage changed, and work/ and the run-cache still have what they made.
    hint = f"; take it from Git again (`git checkout {DVC_LOCK}`) or remove it" if DVC_LOCK in said else ""
    return UserError(f"dvc {command} failed: {said}{hint}")
