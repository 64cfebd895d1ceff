"""Which files of the project a piece of user code reads, and what was in them when it did.

Python tells every `open` to its audit hooks; what a library opens by itself (safetensors, a command that is called) is
not heard. Files outside the project, and those of the package (whose code is hashed
by `workspace/code_hash.py`), are not listened to.
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
        self.apart: list[Path] = []
        self.files: dict[str, str] = {}
        self._busy = False
        _ALL.append(self)

    def leave_out(self, *folders: Path) -> None:
        """Do not note what lies below these folders."""
        self.apart += [folder.resolve() for folder in folders]

    def hear(self, name: Any, flags: int) -> None:
        """Take note of a file that is opened for reading."""
        written = flags & os.O_ACCMODE == os.O_WRONLY or flags & os.O_TRUNC
        if self._busy or written or not isinstance(name, str | bytes):
            return
        self._busy = True
        try:
            self.add(Path(os.fsdecode(name)).absolute())
        finally:
            self._busy = False

    def add(self, file: Path) -> None:
        """Hash it, if it is of the project and not known yet."""
        file = file.resolve()
        if not file.is_relative_to(self.root) or file.is_relative_to(PACKAGE):
            return
        path = file.relative_to(self.root)
        apart = SKIPPED & set(path.parts) or installed(file) or any(file.is_relative_to(place) for place in self.apart)
        if not apart and path.as_posix() not in self.files and file.is_file():
            self.files[path.as_posix()] = sha256_of(file)

    def changed(self) -> list[str]:
        """Those that are something else by now."""
        return [path for path, found in self.files.items() if sha256_of(self.root / path) != found]


def forget_reads() -> None:
    """Begin anew: what was read before is of no concern to the stage that starts now."""
    _ALL.clear()


def changed_reads() -> list[str]:
    """Files read since `forget_reads` that are something else by now."""
    return sorted({path for reads in _ALL for path in reads.changed()})


@contextmanager
def listening(reads: Reads) -> Iterator[None]:
    """What is opened inside the block is noted in `reads`."""
    global _hooked
    if not _hooked:  # a hook stays for as long as the process lives
        sys.addaudithook(_hear)
        _hooked = True
    _LISTENERS.append(reads)
    try:
        yield
    finally:
        _LISTENERS.remove(reads)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _LISTENERS and event == "open":
        for reads in _LISTENERS:
            reads.hear(arguments[0], arguments[2] or 0)
