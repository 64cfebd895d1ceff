"""Call DVC as a command: its environment, its errors, and the repair of its lock table after a crash.

The command line is DVC's stable interface, and a command can be stopped; its Python API offers neither.

DVC notes in a table (`.dvc/tmp/rwlock`) which process reads and writes which path. The entries of a killed `dvc` stay
there, and DVC ignores them only while no process has its number. After a restart, above all of a container, another
process soon has it. `repair_lock_table` removes the entries of dead processes.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
_LOCK_ERRORS = ("Unable to acquire lock", "is busy, it is being blocked by")
_TABLE_ERRORS = ("RWLock-file", "codec can't decode")
Call = Callable[[Path, tuple[str, ...]], tuple[int, str, str]]
_TABLE, _TABLE_LOCK = "rwlock", "rwlock.lock"
_TABLE_SECONDS = 3.0  # DVC holds the table's lock for milliseconds
_CLOCK_SECONDS = 2.0  # tolerance between the start of a process and the time of a file


def is_lock_error(text: str) -> bool:
    """Whether DVC failed only because another `dvc` was active."""
    return any(error in text for error in _LOCK_ERRORS)


def environment() -> dict[str, str]:
    """The environment of DVC and its stages: this Python, one thread per stage, no analytics."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    own = {
        "PATH": os.pathsep.join(folders),  # the stages' commands begin with `python`
        "SHELL": "/bin/sh",  # DVC runs commands with it, and a service account's is `nologin`
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8:backslashreplace",  # logs are read as UTF-8, and a name must not end a stage
        "DVC_NO_ANALYTICS": "1",
    }
    return {**os.environ, **own}


def run_dvc(root: Path, *words: str, patience: float = PATIENCE_SECONDS, call: Call | None = None) -> str:
    """Run `dvc <words>` and return its output; raise a `UserError` with DVC's own message if it fails.

    While another `dvc` is active in the workspace the call is repeated, for `patience` seconds.
    """
    give_up = time.monotonic() + patience
    while True:
        code, output, errors = (call or call_dvc)(root, words)
        if code == 0:
            return output
        if repair_lock_table(root, errors):
            continue
        if not is_lock_error(errors) or time.monotonic() > give_up:
            raise _user_error(words[0], errors)
        time.sleep(PAUSE_SECONDS)


def call_dvc(root: Path, words: tuple[str, ...]) -> tuple[int, str, str]:
    """Run `dvc <words>` as a new process, and return its exit code, output and errors.

    Ctrl-C does not reach it: DVC writes files in place and must not be cut off.
    """
    with subprocess.Popen(
        [*DVC, *words],
        cwd=root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",  # whatever the locale
        errors="replace",
        start_new_session=True,
    ) as process:
        output, errors = process.communicate()
    return process.returncode, output, errors


def repair_lock_table(root: Path, errors: str) -> bool:
    """If DVC failed because of its lock table, remove what is broken or dead from it; whether anything was."""
    if not is_lock_error(errors) and not any(error in errors for error in _TABLE_ERRORS):
        return False
    # DVC looks for it in the same way: the project may be a part of a larger repository.
    folder = next((place / ".dvc/tmp" for place in (root, *root.parents) if (place / ".dvc").is_dir()), root)
    with _lock_table(folder) as locked:
        return locked and _repair(folder / _TABLE)


@contextmanager
def _lock_table(folder: Path) -> Iterator[bool]:
    """Hold the lock under which DVC reads and writes its table; yields whether that was possible."""
    try:
        # The file is never created here: with `core.hardlink_lock` its mere existence is the lock.
        file = (folder / _TABLE_LOCK).open("r+b")
    except OSError:
        yield (folder / _TABLE).exists()
        return
    give_up = time.monotonic() + _TABLE_SECONDS
    with file:
        while not (locked := lock_descriptor(file.fileno(), blocking=False)) and time.monotonic() < give_up:
            time.sleep(0.01)
        yield locked


def _repair(path: Path) -> bool:
    """Remove an unreadable table, as a power cut leaves it, or the entries of dead processes."""
    try:
        written, table = path.stat().st_mtime, json.loads(path.read_bytes())
        alive = _living_entries(table, written)
    except FileNotFoundError:
        return False
    except (ValueError, TypeError, KeyError, AttributeError):
        path.unlink(missing_ok=True)  # DVC makes a new one
        return True
    if alive == {"write": {}, "read": {}, **table}:
        return False
    write_text(path, json.dumps(alive))
    return True


def _living_entries(table: dict[str, Any], written: float) -> dict[str, Any]:
    """The entries of living processes in DVC's table, `{"write": {path: entry}, "read": {path: [entry, ...]}}`."""
    write, read = table.get("write", {}), table.get("read", {})
    return {
        "write": {path: entry for path, entry in write.items() if _is_alive(entry, written)},
        "read": {path: [entry for entry in entries if _is_alive(entry, written)] for path, entries in read.items()},
    }


def _is_alive(entry: dict[str, Any], written: float) -> bool:
    """Whether the process that made the entry still runs, and not another one that got its number later.

    The command line decides. Without one the time of the start decides, which is wrong after the clock was set.
    """
    import psutil

    pid, cmd = entry["pid"], entry["cmd"]
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if cmd.partition(" ")[0] in ("", "-c"):  # Python without a file: any program may have called DVC
            return bool(process.create_time() <= written + _CLOCK_SECONDS)
        return _is_call(cmd, process.cmdline())
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # another user's process
        return True


def _is_call(cmd: str, words: list[str]) -> bool:
    """Whether a process with the command line `words` can have `cmd` as its `" ".join(sys.argv)`."""
    return any(cmd == " ".join(words[i:]) or cmd.endswith(_argv_endings(words[i:])) for i in range(len(words)))


def _argv_endings(words: list[str]) -> tuple[str, ...]:
    """How `sys.argv` may end: for `python -m dvc` it begins with a file, for a program perhaps with its whole path."""
    module = words[0].removeprefix("-m").replace(".", "/")
    files = (f"/{module}/__main__.py", f"/{module}.py", f"/{Path(words[0]).name}")
    return tuple(" ".join([file, *words[1:]]) for file in files)


def _user_error(command: str, errors: str) -> UserError:
    message = " ".join(errors.replace("ERROR:", " ").split()) or "no message"
    if is_lock_error(errors):
        return UserError(f"another dvc command is at work here; try again when it has ended (dvc: {message})")
    # Removing dvc.lock loses nothing: work/ and the run-cache still have the outputs.
    hint = f"; take it from Git again (`git checkout {DVC_LOCK}`) or remove it" if DVC_LOCK in message else ""
    return UserError(f"dvc {command} failed: {message}{hint}")
