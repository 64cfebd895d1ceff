"""What `work/` holds, by what its loss would cost: the whole folder can be made again, some of it only slowly.

A finished result is in `runs/` or DVC's cache too, and comes back from there. A half-finished one, a download and
the clones of schedules and workers are nowhere else.
"""

import fcntl
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ebmbench.core.errors import UserError
from ebmbench.core.store import LOCK, SIZES

FINISHED, LEFTOVERS, LOGS, OTHER = "finished results", "leftovers of killed attempts", "logs", "other"
HALF_FINISHED, DOWNLOADS, CLONES = "half-finished runs", "downloads", "clones of schedules and workers"
CHEAP = (FINISHED, LEFTOVERS, LOGS, OTHER)
DEAR = (HALF_FINISHED, DOWNLOADS, CLONES)
_FOLDERS = {
    "flow": LOGS,
    "tuning": LOGS,
    "claims": LOGS,
    "downloads": DOWNLOADS,
    "scheduled": CLONES,
    "workers": CLONES,
}
_UNCOUNTED = ("locks", "failures")  # empty files, and the reasons that a report shows for what failed
_DIGEST = re.compile(r"[0-9a-f]{16}")
_LEFTOVER = re.compile(r"part-\d+|\..*\.part|\.done\.old")


@dataclass
class Share:
    """The files of one kind, and how many bytes they have."""

    paths: list[Path] = field(default_factory=list)
    size: int = 0


def shares(work: Path) -> dict[str, Share]:
    """What there is of each kind; kinds of which there is nothing are left out."""
    found: dict[str, Share] = {}
    for kind, path in _sorted(work):
        share = found.setdefault(kind, Share())
        share.paths.append(path)
        share.size += size_of(path)
    return {kind: found[kind] for kind in (*CHEAP, *DEAR) if kind in found}


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files below a folder; links count for themselves."""
    files = [path] if not path.is_dir() or path.is_symlink() else path.rglob("*")
    return sum(file.lstat().st_size for file in files if file.is_symlink() or not file.is_dir())


def no_stage(work: Path) -> None:
    """Refuse while a stage, a search or a worker is at work here, whoever started it: it would lose what it writes."""
    for path in [*sorted((work / "locks").glob("*.lock")), *sorted((work / "workers").glob("worker-*.lock"))]:
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"{path.stem} is at work in this folder; wait for it or stop it") from None


def _sorted(work: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(work.iterdir() if work.is_dir() else []):
        if _DIGEST.fullmatch(path.name):
            yield from _results(path)
        elif path.name not in _UNCOUNTED:
            yield _FOLDERS.get(path.name, OTHER), path


def _results(workshop: Path) -> Iterator[tuple[str, Path]]:
    """A finished job has its result; what else lies there is of no use to it, and all there is to an unfinished one."""
    done = (workshop / "done").is_dir()
    for path in sorted(workshop.iterdir()):
        if path.name == "done" or (done and path.name in (SIZES, LOCK)):
            yield FINISHED, path
        elif path.name in (SIZES, LOCK):
            yield LEFTOVERS, path
        else:
            yield LEFTOVERS if done or _LEFTOVER.fullmatch(path.name) else HALF_FINISHED, path
