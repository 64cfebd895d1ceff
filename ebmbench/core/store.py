"""`work/`: where results are made and found again by the digest of all that produces them.

`work/<digest>/` holds what a job needs to go on (its checkpoint) and, once it is finished, its result in
`work/<digest>/done/`, put there by one rename. Resume and reuse are thus one mechanism: whoever asks for a
digest gets the finished result, or goes on with the half-finished one. `work/<digest>/sizes.json` tells how long
each file of the result is: one that a failing disk has cut short is made anew. A digest is made by one process at a
time; others that ask for it wait. The folder is ignored by Git and DVC
and safe to delete.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ebmbench.core.files import copy_folder, read_json, replace_folder, sweep_parts, write_json

SIZES = "sizes.json"
LOCK = "lock"


def digest(value: Any) -> str:
    """A short name for a JSON-like value: the first 16 hex digits of its SHA-256."""
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """Finished and half-finished results below one folder."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self.folder = folder
        self.fresh = fresh

    def obtain(self, key: str, make: Callable[[Path, Path], None]) -> Path:
        """The folder of the finished result `key`; `make(workshop, result)` fills `result` if there is none yet."""
        workshop, done = self.folder / key, self.done(key)
        with _owning(workshop):
            if self.fresh:
                _sweep(workshop, LOCK)
            if not _whole(done):
                shutil.rmtree(done, ignore_errors=True)
                sweep_parts(workshop)
                part = workshop / f"part-{os.getpid()}"
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir(parents=True)
                make(workshop, part)
                write_json(workshop / SIZES, _sizes(part))
                replace_folder(part, done)
                _sweep(workshop, "done", SIZES, LOCK)
        return done

    def done(self, key: str) -> Path:
        """Where the finished result of a digest is, if it is."""
        return self.folder / key / "done"

    def adopt(self, key: str, finished: Path) -> None:
        """Take over a finished result from elsewhere (a pulled clone has `runs/` but no `work/`)."""
        if not self.done(key).exists():
            write_json(self.folder / key / SIZES, _sizes(finished))
            copy_folder(finished, self.done(key))


@contextmanager
def _owning(workshop: Path) -> Iterator[None]:
    """Who asks for a digest that another process is making waits for it."""
    workshop.mkdir(parents=True, exist_ok=True)
    with (workshop / LOCK).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep(workshop: Path, *kept: str) -> None:
    """A finished job needs neither its checkpoint nor the leftovers of killed attempts."""
    for rest in workshop.iterdir():
        if rest.name not in kept:
            shutil.rmtree(rest) if rest.is_dir() else rest.unlink()


def _whole(done: Path) -> bool:
    """Whether a result is there and as long as it was; results from before there were sizes are taken as they are."""
    sizes = done.with_name(SIZES)
    if not done.is_dir() or not sizes.exists():
        return done.is_dir()
    try:
        return bool(read_json(sizes) == _sizes(done))
    except ValueError:  # cut short itself
        return False


def _sizes(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
