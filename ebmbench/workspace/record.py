"""The record of a stage: which parameters, files and library versions made its outputs.

Every stage but `report` writes one as an output. DVC hashes parameters and dependencies only after a stage has ended,
so `dvc.lock` may hold an edit that the stage never saw; the record holds what it did see. The flow compares the two,
and the report compares records with the present files and parameters.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pathspec import PathSpec

from ebmbench.workspace.code_hash import versions
from ebmbench.workspace.files import write_json

Record = dict[str, Any]
"""`stage`; `params`, values by dotted key; `inputs`, hashes by path; `versions`, by library."""

ALWAYS = (".hg/", ".git/", ".git", ".dvc/")  # what DVC ignores by itself


def is_record(path: str) -> bool:
    """Whether an output is a stage's record, by its name."""
    parts = path.split("/")
    return parts[-1].endswith("record.json") or parts[-2:-1] == ["record"]


def write_record(path: Path, stage: str, params: dict[str, Any], inputs: dict[str, str | None]) -> None:
    """Write what a stage has read."""
    write_json(path, {"stage": stage, "params": params, "inputs": inputs, "versions": versions()})


def read_record(path: Path) -> Record | None:
    """A record, or None if there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        whole = all(isinstance(record[key], dict) for key in ("params", "inputs", "versions"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if whole else None


def hash_of(path: Path) -> str | None:
    """The MD5 of a file or folder as `dvc.lock` has it; None if there is nothing."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest()
    if not path.is_dir():
        return None
    root, ignored = _ignored(path.absolute())
    files = (file for file in path.rglob("*") if file.is_file())
    names = sorted(file.relative_to(path).as_posix() for file in files if not ignored(file.absolute(), root))
    entries = [{"md5": hash_of(path / name), "relpath": name} for name in names]
    return hashlib.md5(json.dumps(entries, sort_keys=True).encode()).hexdigest() + ".dir"


def _ignored(folder: Path) -> tuple[Path, Callable[[Path, Path], bool]]:
    """The project's root, and what its `.dvcignore` says of a file: DVC leaves such files out of a folder's hash."""
    root = next((place for place in (folder, *folder.parents) if (place / ".dvcignore").is_file()), folder)
    spec = _patterns(root / ".dvcignore")
    return root, lambda file, root: spec.match_file(file.relative_to(root).as_posix())


def _patterns(file: Path) -> PathSpec[Any]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return PathSpec.from_lines("gitignore", [*ALWAYS, *lines])
