"""What `work/` holds, sorted by what losing it would cost.

Finished results are in `runs/` or DVC's cache too, and come back from there. Half-finished runs, downloads and the
clones of schedules and workers are nowhere else. Files with other names than the program writes belong to the user.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ebmbench.config.sections import KINDS
from ebmbench.errors import UserError
from ebmbench.workspace.layout import LOCKS, WORKERS
from ebmbench.workspace.locks import is_held
from ebmbench.workspace.manifest import files_in, is_leftover, read_hashes
from ebmbench.workspace.store import CHECKPOINT, DIGEST, FILES, LOCK, PART, SIZES

FINISHED, LEFTOVERS, LOGS = "finished results", "leftovers of killed attempts", "logs"
HALF_FINISHED, DOWNLOADS, CLONES = "half-finished runs", "downloads", "clones of schedules and workers"
FOREIGN = "not written by ebmbench"
CHEAP = (FINISHED, LEFTOVERS, LOGS)
DEAR = (HALF_FINISHED, DOWNLOADS, CLONES)
_TREES = {  # folders by name: what they hold, and the paths that are written there
    "flow": (LOGS, re.compile(r"lock|\w+\.lock|outcomes\.json|logs/[^/]+\.log|pulses/[^/]+\.json|entries/[^/]+\.yaml")),
    "failures": (LOGS, re.compile(r"[^/]+\.(log|json)")),  # tracebacks; until version 0.7 notes too
    "tuning": (LOGS, re.compile(r"[^/]+\.log|[^/]+/(trials\.csv|report\.md|best-of-n\.svg)")),
    "code": (FINISHED, re.compile(r"memory\.json")),  # hashes (`code_hash.py`)
    "claims": (LOGS, re.compile(r"\w+/((verdict|metrics)\.json|values\.csv|figure\.png)")),
    "pages": (LOGS, re.compile(r"[^/]+\.html")),
    "downloads": (
        DOWNLOADS,  # as their publishers call them (docs/data.md)
        re.compile(
            r"\w+/((train|t10k)-(images|labels)-idx[13]-ubyte\.gz|cifar-10-(binary|python)\.tar\.gz|img_align_celeba\.zip"
            r"|identity_CelebA\.txt|list_(attr|bbox|landmarks_align)_celeba\.txt|list_eval_partition\.txt)"
        ),
    ),
}
_CLONES = ("scheduled", "workers")
_WORKERS = re.compile(r"worker-\d+\.lock|dask")
_UNCOUNTED = ("locks",)  # empty files
# What results are made of, for those of older versions, which have no list.
_RESULT = re.compile(
    r"(model|snapshot-\d+|classifier)\.safetensors|(status|cost|judgement|curve|criterion|diagnostics)\.json"
    rf"|history\.csv|(picture|trace|films|measures)\.npz|({'|'.join(KINDS)}|completions|snapshot-\d+)\.npy"
)
Classified = Iterator[tuple[str, Path]]


@dataclass
class Share:
    """The files of one kind, and how many bytes they have."""

    paths: list[Path] = field(default_factory=list)
    size: int = 0


def shares(work: Path, is_clone: Callable[[Path], bool]) -> dict[str, Share]:
    """The files and size of each kind that there is. `is_clone` tells whether a folder is a clone of ours."""
    found: dict[str, Share] = {}
    for kind, path in _classify(work, is_clone):
        share = found.setdefault(kind, Share())
        share.paths.append(path)
        share.size += size_of(path)
    return {kind: found[kind] for kind in (*CHEAP, *DEAR, FOREIGN) if kind in found}


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files below a folder; links count for themselves."""
    files = [path] if not path.is_dir() or path.is_symlink() else path.rglob("*")
    return sum(file.lstat().st_size for file in files if file.is_symlink() or not file.is_dir())


def require_no_stage(root: Path) -> None:
    """Refuse while a stage, a search or a worker is at work here, whoever started it: it would lose what it writes."""
    for path in [*sorted((root / LOCKS).glob("*.lock")), *sorted((root / WORKERS).glob("worker-*.lock"))]:
        if is_held(path):
            raise UserError(f"{path.stem} is at work in this folder; wait for it or stop it")


def _classify(work: Path, is_clone: Callable[[Path], bool]) -> Classified:
    for path in sorted(work.iterdir() if work.is_dir() else []):
        if path.is_symlink() or not path.is_dir():
            yield LEFTOVERS if is_leftover(path.name) else FOREIGN, path
        elif DIGEST.fullmatch(path.name):
            yield from _results(path)
        elif path.name in _TREES:
            yield from _tree(path)
        elif path.name in _CLONES:
            yield from _clones(path, is_clone)
        elif path.name not in _UNCOUNTED:
            yield FOREIGN, path


def _tree(folder: Path) -> Classified:
    kind, names = _TREES[folder.name]
    for name in files_in(folder):
        known = kind if names.fullmatch(name) else LEFTOVERS if is_leftover(name) else FOREIGN
        yield known, folder / name


def _clones(folder: Path, is_clone: Callable[[Path], bool]) -> Classified:
    for path in sorted(folder.iterdir()):
        yield CLONES if _WORKERS.fullmatch(path.name) or is_clone(path) else FOREIGN, path


def _results(workshop: Path) -> Classified:
    """The files of one job: a finished one needs its result only, an unfinished one its checkpoints."""
    done = (workshop / "done").is_dir()
    for path in sorted(workshop.iterdir()):
        if path.name == "done" and done:
            yield from _finished(path)
        elif path.name in (FILES, SIZES, LOCK):
            yield FINISHED if done else LEFTOVERS, path
        elif CHECKPOINT.fullmatch(path.name):
            yield LEFTOVERS if done else HALF_FINISHED, path
        else:
            yield LEFTOVERS if PART.fullmatch(path.name) or is_leftover(path.name) else FOREIGN, path


def _finished(done: Path) -> Classified:
    listed = read_hashes(done.with_name(FILES))
    for name in files_in(done):
        known = name in listed if listed is not None else _RESULT.fullmatch(name)
        yield FINISHED if known else LEFTOVERS if is_leftover(name) else FOREIGN, done / name
