"""The list of files that a stage wrote into a folder, each with its SHA-256.

Every folder that is an output of a stage has such a list, `manifest.json`. DVC empties an output before its stage runs.
Files that are not in the list belong to the user, and a run is refused until they are moved.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ebmbench.config.sections import KINDS
from ebmbench.errors import UserError
from ebmbench.workspace.files import replace_folder, sha256_of, write_json

MANIFEST = "manifest.json"
# The names that stages write, for folders without a list: those of older versions, and what a kill left.
_RUN = r"(?:\w+=[^/]+/)*seed=\d+/"
PREPARED = re.compile(r"(train|test)(_labels)?\.npy|outliers\.npy|(facts|source|outliers)\.json")
FEATURES = re.compile(r"classifier\.safetensors|(status|cost)\.json")
TRAINED = re.compile(rf"{_RUN}((model|snapshot-\d+)\.safetensors|status\.json)")
SAMPLED = re.compile(rf"{_RUN}(({'|'.join(KINDS)}|completions|snapshot-\d+)\.npy|diagnostics\.json|(trace|films)\.npz)")
# Files that a kill left half-written, by us (`workspace/files.py`) or by DVC, and what file managers leave everywhere.
LEFTOVER = re.compile(r"\..+\.part|\.(train|sample|done)\.old|.*\.[\w-]{22}\.tmp|\.DS_Store|Thumbs\.db|desktop\.ini")


def files_in(folder: Path) -> Iterator[str]:
    """The paths of all files below a folder; a link counts for itself."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder, by its path."""
    return {name: sha256_of(folder / name) for name in files_in(folder)}


def read_hashes(path: Path) -> dict[str, str] | None:
    """Read such a list; None if there is none or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
    return found if whole else None


def is_leftover(name: str) -> bool:
    """Whether a path is, or lies in, what a killed process was writing."""
    return any(LEFTOVER.fullmatch(part) for part in name.split("/"))


def foreign_files(folder: Path, names: re.Pattern[str]) -> list[str]:
    """The files in an output folder that no stage wrote: not in its list or, if it has none, with other names."""
    listed = read_hashes(folder / MANIFEST)

    def ours(name: str) -> bool:
        known = name in listed if listed is not None else names.fullmatch(name) is not None
        return known or name == MANIFEST or is_leftover(name)

    return [name for name in files_in(folder) if not ours(name)]


def require_no_foreign_files(folder: Path, names: re.Pattern[str]) -> None:
    """Refuse to go on if a file of the user would be lost."""
    if found := foreign_files(folder, names):
        path, cwd = (folder / found[0]).absolute(), Path.cwd()
        shown = path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else path
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise UserError(f"{shown}{more}: not written by ebmbench, and lost when its stage runs; move it elsewhere")


@contextmanager
def materialising(target: Path, names: re.Pattern[str]) -> Iterator[Path]:
    """Yield a folder to fill; when the block succeeds, it gets its list and replaces `target`."""
    require_no_foreign_files(target, names)
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        write_json(part / MANIFEST, hashes(part))
        replace_folder(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder and the folders below it that hold no file."""
    below = sorted((path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()), reverse=True)
    for path in [*below, folder]:
        with suppress(OSError):
            path.rmdir()
