"""Which files of the project a piece of user code reads, and their hashes when it did.

Python reports every `open` to its audit hooks. Files that a library or another program opens by itself are not seen.
Files outside the project are left out, and so is the package, whose code `code_hash.py` hashes.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ebmbench.workspace.code_hash import PACKAGE, installed
from ebmbench.workspace.files import sha256_of

SKIPPED = {"__pycache__", ".git", ".dvc"}
_ALL: list["Reads"] = []
_LISTENERS: list["Reads"] = []
_hooked = False


class Reads:
    """SHA-256 by path from the root, of every file when it was first opened."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.excluded: list[Path] = []
        self.files: dict[str, str] = {}
        self._busy = False
        _ALL.append(self)

    def leave_out(self, *folders: Path) -> None:
        """Ignore files below these folders."""
        self.excluded += [folder.resolve() for folder in folders]

    def note_open(self, name: Any, flags: int) -> None:
        """Add a file that is opened for reading."""
        written = flags & os.O_ACCMODE == os.O_WRONLY or flags & os.O_TRUNC
        if self._busy or written or not isinstance(name, str | bytes):
            return
        self._busy = True
        try:
            self.add(Path(os.fsdecode(name)).absolute())
        finally:
            self._busy = False

    def add(self, file: Path) -> None:
        """Hash a file, if it is in the project and was not added before."""
        file = file.resolve()
        if not file.is_relative_to(self.root) or file.is_relative_to(PACKAGE):
            return
        path = file.relative_to(self.root)
        excluded = (
            SKIPPED & set(path.parts) or installed(file) or any(file.is_relative_to(place) for place in self.excluded)
        )
        if not excluded and path.as_posix() not in self.files and file.is_file():
            self.files[path.as_posix()] = sha256_of(file)

    def changed(self) -> list[str]:
        """The files whose content has changed since."""
        return [path for path, found in self.files.items() if sha256_of(self.root / path) != found]


def forget_reads() -> None:
    """Forget all reads, at the start of a stage."""
    _ALL.clear()


def changed_reads() -> list[str]:
    """Files that were read since `forget_reads` and have changed since."""
    return sorted({path for reads in _ALL for path in reads.changed()})


@contextmanager
def listening(reads: Reads) -> Iterator[None]:
    """Add every file that is opened inside the block to `reads`."""
    global _hooked
    if not _hooked:  # a hook stays for as long as the process lives
        sys.addaudithook(_on_audit)
        _hooked = True
    _LISTENERS.append(reads)
    try:
        yield
    finally:
        _LISTENERS.remove(reads)


def _on_audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _LISTENERS and event == "open":
        for reads in _LISTENERS:
            reads.note_open(arguments[0], arguments[2] or 0)
