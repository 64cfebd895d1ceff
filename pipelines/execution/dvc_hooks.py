"""What is replaced inside of DVC, in forks that run one command (`fork_server.py`).

DVC has no setting for any of this. `find_obstacle` says if a version of DVC no longer has the parts that are replaced;
stages are then started without forks.
"""

import contextlib
import inspect
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.planning.lock_entries import parse_entries

_LOCK_SECONDS = 0.01


def find_obstacle() -> str:
    """Why this version of DVC cannot be used here; empty if it can."""
    from dvc.dependency import param
    from dvc.dvcfile import Lockfile, ProjectFile
    from dvc.lock import Lock
    from dvc.output import Output
    from dvc.stage import run

    if not hasattr(Lock, "_do_lock"):
        return "DVC locks the repository in another way"
    if not hasattr(param, "load_path") or not hasattr(Output, "_get_hash_meta"):
        return "DVC reads parameters or hashes files in another way"
    if not isinstance(getattr(ProjectFile, "_lockfile", None), property) or not hasattr(Lockfile, "dump_stages"):
        return "DVC's class ProjectFile has changed"
    if list(inspect.signature(getattr(run, "_run", len)).parameters) != ["executable", "cmd", "kwargs"]:
        return "DVC's function _run has changed"
    return ""


def run_commands(run_stage: Callable[[str, dict[str, Any]], bool]) -> None:
    """Let `run_stage` run the commands of stages; those that it refuses are run by DVC, in a shell."""
    from dvc.stage import run

    by_shell = run._run

    def run_command(executable: str, cmd: str, **options: Any) -> None:
        if not run_stage(cmd, options):
            by_shell(executable, cmd, **options)

    run._run = run_command


def ask_often_for_locks() -> None:
    """Ask for a lock that another stage holds every 10 ms. DVC asks every half second, and holds it far shorter."""
    from dvc.lock import DEFAULT_TIMEOUT, Lock, LockError

    def lock(self: Any) -> None:
        end = math.inf if self._wait else time.monotonic() + DEFAULT_TIMEOUT
        while True:
            try:
                self._do_lock()
                return
            except LockError:
                if time.monotonic() > end:
                    raise
                time.sleep(_LOCK_SECONDS)

    Lock.lock = lock


def use_entry(text: str, file: Path) -> None:
    """Show DVC the entry of one stage in place of all of `dvc.lock`, and write the new entry to a file of its own."""
    from dvc.dvcfile import ProjectFile

    entry = _Entry(text, file)
    ProjectFile._lockfile = property(lambda _: entry)


class _Entry:
    """Stands for DVC's `Lockfile`: the entry of one stage, whose new text goes to a file of its own."""

    relpath = "dvc.lock"

    def __init__(self, text: str, file: Path) -> None:
        self.text, self.file = text, file

    def load(self) -> dict[str, Any]:
        from dvc.utils.serialize import parse_yaml

        return {"schema": "2.0", "stages": parse_yaml(self.text, "dvc.lock")} if self.text else {}

    def dump_stages(self, stages: list[Any], **options: Any) -> None:
        from dvc.stage.serialize import to_lockfile
        from dvc.utils.serialize import dumps_yaml

        entries = {name: entry for stage in stages for name, entry in to_lockfile(stage, **options).items()}
        self.text = dumps_yaml({"stages": entries}).partition("\n")[2]
        part = self.file.with_name(f".{self.file.name}.part")
        part.parent.mkdir(parents=True, exist_ok=True)  # `work/` may be deleted at any time
        part.write_text(self.text, encoding="utf-8")
        part.replace(self.file)


def read_files_once(memory: Path) -> None:
    """Let a command that changes nothing parse and hash each file once, not once for every stage that depends on it."""
    from dvc.dependency import param
    from dvc.dvcfile import Lockfile
    from dvc.output import Output
    from dvc.utils.serialize import parse_yaml

    load, load_path, hash_meta = Lockfile.load, param.load_path, Output._get_hash_meta
    values: dict[str, Any] = {}
    hashes: dict[tuple[object, ...], Any] = {}

    def load_lock(self: Any, **options: Any) -> Any:
        file = Path(self.path)
        text = file.read_text(encoding="utf-8") if self.exists() else ""
        with contextlib.suppress(Exception):  # DVC then says what is wrong with it
            stages = parse_entries(text, memory, lambda entry: parse_yaml(entry, self.path))
            if stages is not None:
                return {"schema": "2.0", "stages": stages}
        return load(self, **options)

    def load_values(path: str, fs: Any, **options: Any) -> Any:
        if path not in values:
            values[path] = load_path(path, fs, **options)
        return values[path]

    def hash_once(self: Any) -> Any:
        key = (self.fs.protocol, self.fs_path, self.use_cache, self.hash_name)
        if key not in hashes:
            hashes[key] = hash_meta(self)
        return hashes[key]

    Lockfile.load, param.load_path, Output._get_hash_meta = load_lock, load_values, hash_once
