"""`work/`: where results are made and found again by the digest of all that produces them.

`work/<digest>/` holds what a job needs to go on (its checkpoint) and, once it is finished, its result in
`work/<digest>/done/`, put there by one rename. Resume and reuse are thus one mechanism: whoever asks for a
digest gets the finished result, or goes on with the half-finished one. The folder is ignored by Git and DVC and
safe to delete.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebmbench.core.files import copy_folder, replace_folder


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
        if self.fresh:
            shutil.rmtree(workshop, ignore_errors=True)
        if not done.is_dir():
            part = workshop / f"part-{os.getpid()}"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            make(workshop, part)
            replace_folder(part, done)
            _sweep(workshop)
        return done

    def done(self, key: str) -> Path:
        """Where the finished result of a digest is, if it is."""
        return self.folder / key / "done"

    def adopt(self, key: str, finished: Path) -> None:
        """Take over a finished result from elsewhere (a pulled clone has `runs/` but no `work/`)."""
        if not self.done(key).exists():
            copy_folder(finished, self.done(key))


def _sweep(workshop: Path) -> None:
    """A finished job needs neither its checkpoint nor the leftovers of killed attempts."""
    for rest in workshop.iterdir():
        if rest.name != "done":
            shutil.rmtree(rest) if rest.is_dir() else rest.unlink()
