"""`work/`: results, stored under the digest of everything that produces them.

`work/<digest>/` holds the checkpoint of an unfinished job. A finished job has its result in `work/<digest>/done/`, put
there by one rename. So resume and reuse are one mechanism. `work/<digest>/files.json` holds the SHA-256 of each file of
the result; a damaged or changed result is made anew. One process at a time makes a digest; others wait for it. The
folder is ignored by Git and DVC and safe to delete.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebmbench.errors import UserError
from ebmbench.workspace.files import copy_folder, replace_folder, sweep_parts, write_json
from ebmbench.workspace.locks import hold
from ebmbench.workspace.manifest import files_in, hashes, is_leftover, read_hashes

FILES = "files.json"
SIZES = "sizes.json"  # in its place until version 0.7
LOCK = "lock"
DIGEST = re.compile(r"[0-9a-f]{16}")
CHECKPOINT = re.compile(r"(checkpoint|previous|healthy-\d+|snapshot-\d+)\.safetensors")  # of a job that is at work
PART = re.compile(r"part-\d+")  # a result that is being made, with the number of its process


def digest(value: Any) -> str:
    """A short name for a JSON-like value: the first 16 hex digits of its SHA-256."""
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """Finished and half-finished results below one folder."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self.folder = folder
        self.fresh = fresh  # make each result anew once, whatever is there
        self._made: set[str] = set()

    def obtain(self, key: str, make: Callable[[Path, Path], None]) -> Path:
        """Return the folder of the result `key`; `make(workshop, result)` fills it if there is none yet."""
        workshop, done = self.folder / key, self.done(key)
        fresh = self.fresh and key not in self._made
        with hold(workshop / LOCK):  # who asks for a digest that another process is making waits for it
            if fresh:
                _sweep(workshop)
            if fresh or not _whole(done):
                _discard(done)
                sweep_parts(workshop)
                part = workshop / f"part-{os.getpid()}"
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir(parents=True)
                make(workshop, part)
                write_json(workshop / FILES, hashes(part))
                replace_folder(part, done)
                _sweep(workshop)
        self._made.add(key)
        return done

    def done(self, key: str) -> Path:
        """The folder of a finished result."""
        return self.folder / key / "done"

    def has(self, key: str) -> bool:
        """Whether there is a finished result; it is not checked."""
        return self.done(key).is_dir() and (self.folder / key / FILES).is_file()

    def adopt(self, key: str, finished: Path) -> None:
        """Take over a finished result from elsewhere (a pulled clone has `runs/` but no `work/`)."""
        if not self.has(key):
            write_json(self.folder / key / FILES, hashes(finished))
            copy_folder(finished, self.done(key))


def _sweep(workshop: Path) -> None:
    """Remove the checkpoints of a finished job and the leftovers of killed attempts."""
    for rest in workshop.iterdir():
        if CHECKPOINT.fullmatch(rest.name) or PART.fullmatch(rest.name) or is_leftover(rest.name) or rest.name == SIZES:
            shutil.rmtree(rest) if rest.is_dir() else rest.unlink()


def _discard(done: Path) -> None:
    """Remove an old result; refuse if it holds a file that is not ours."""
    listed = read_hashes(done.with_name(FILES))
    if listed is None:
        return shutil.rmtree(done, ignore_errors=True)
    foreign = [name for name in files_in(done) if name not in listed]
    if foreign:
        raise UserError(f"{done / foreign[0]}: not written by ebmbench, and in a result's way; move it elsewhere")
    shutil.rmtree(done, ignore_errors=True)


def _whole(done: Path) -> bool:
    """Whether a result is there and none of its files has changed."""
    listed = read_hashes(done.with_name(FILES))
    try:
        return done.is_dir() and listed is not None and listed == hashes(done)
    except OSError:  # a link that leads nowhere, say
        return False
