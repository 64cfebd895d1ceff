"""The published files of an image dataset: looked for, checked, and downloaded if they are nowhere.

The order: the folder that `EBMBENCH_DATA` names, `params.yaml: data.root`, a package of the system, an earlier
download, the network. In each folder: `<dataset>/`, torchvision's own layout, and the folder itself.
A file is used only if its sum is the known one, so a half-finished copy is never mistaken for data. MD5 is what the
publishers and torchvision give: it finds damage and other files, it does not vouch for the publisher. A sum of 64
digits is SHA-256.
"""

import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from torch import Tensor

from ebmbench.data.common.download import DownloadError, RemoteFile, download
from ebmbench.data.common.images import draw_subset
from ebmbench.errors import UserError
from ebmbench.workspace.layout import DATA_ROOT, DOWNLOADS, PARAMS_YAML

UNVERIFIED = "EBMBENCH_DATA_UNVERIFIED"
CHUNK = 1 << 20
LARGEST = 1 << 30  # bytes that any file unpacks to: the largest of the published ones holds 47 MB


@dataclass(frozen=True)
class RequiredFile:
    """A file under any of some names, and the sums it may have: its own, or of its content if it is a `.gz`.

    A file without a known sum is used only if sums are not checked; a folder has none. A pickled file is always
    checked, since reading a pickle runs it.
    """

    names: tuple[str, ...]
    sums: tuple[str, ...] = ()
    folder: bool = False
    pickled: bool = False

    def find_in(self, place: Path) -> Path | None:
        """The first of the names that exists in that folder."""
        paths = (place / name for name in self.names)
        return next((path for path in paths if (path.is_dir() if self.folder else path.is_file())), None)

    def fault(self, path: Path, verify: bool) -> str | None:
        """What is wrong with the file at `path`, as one line that names it, or None."""
        if self.folder or not (verify or self.pickled):
            return None
        words = describe_damage(path, self.sums)
        if words is None or verify:
            return words
        return f"{words}; a pickle is a program, so it is read only with its published sum"


@dataclass(frozen=True)
class Recipe:
    """The files of a dataset: sets, any one of which suffices; torchvision's folders for them; how to download the
    first set; and packages of the system that have them.
    """

    sets: Sequence[Sequence[RequiredFile]]
    layouts: Sequence[str]
    remotes: Sequence[RemoteFile]
    system: Sequence[Path] = ()


@dataclass(frozen=True)
class Files:
    """The files of the dataset called `dataset`, and how many images of each split are wanted at most."""

    dataset: str
    train: int
    test: int
    roots: tuple[Path, ...]
    downloads: Path
    verify: bool = True
    download: Callable[[Sequence[RemoteFile], Path], None] = field(default=download, repr=False)

    @classmethod
    def from_settings(cls, dataset: str, caps: tuple[int, int], root: Path, data_root: str | None) -> "Files":
        """The files as the user's settings say: environment first, then `params.yaml: data.root`."""
        named = os.environ.get(DATA_ROOT)
        if named and not Path(named).is_dir():
            raise UserError(f"{DATA_ROOT}: found {named!r}, but there is no such folder")
        given = [Path(named).absolute()] if named else []
        own = [root / Path(data_root).expanduser()] if data_root else []
        verify = os.environ.get(UNVERIFIED, "") in ("", "0")
        if not verify:
            print(f"warning: {UNVERIFIED}: the files of {dataset} are not checked; quote no number", file=sys.stderr)
        downloads = own[0] if own else root / DOWNLOADS
        return cls(dataset, *caps, (*given, *own), downloads, verify)

    def keep(self, split: str, count: int) -> Tensor:
        """Indices of the images of a split that are kept, out of `count`."""
        return draw_subset(count, self.train if split == "train" else self.test, self.dataset, split)

    def find(self, recipe: Recipe) -> list[Path]:
        """The files of the first set that is somewhere whole."""
        damaged: list[str] = []
        for place in self._places(recipe):
            for required in recipe.sets:
                if found := self._find_set(place, required, damaged):
                    return found
        if damaged:
            raise UserError(f"{damaged[0]}; replace or remove it")
        return self._download(recipe)

    def _places(self, recipe: Recipe) -> Iterator[Path]:
        nested = [f"{self.dataset}/{layout}" for layout in recipe.layouts]
        for root in [*self.roots, *recipe.system, self.downloads]:
            for layout in dict.fromkeys([self.dataset, *recipe.layouts, *nested, "."]):
                yield root / layout

    def _find_set(self, place: Path, required: Sequence[RequiredFile], damaged: list[str]) -> list[Path]:
        """The paths of all required files in a folder; none if one is missing or damaged."""
        paths = [path for file in required if (path := file.find_in(place)) is not None]
        if len(paths) < len(required):
            return []
        faults = [file.fault(path, self.verify) for file, path in zip(required, paths, strict=True)]
        damaged += [fault for fault in faults if fault is not None]
        return [] if any(faults) else paths

    def _download(self, recipe: Recipe) -> list[Path]:
        place = self.downloads / self.dataset
        try:
            self.download(recipe.remotes, place)
        except DownloadError as failure:
            names = ", ".join(file.names[0] for file in recipe.sets[0])
            raise UserError(
                f"{self.dataset}: its files are not here{self._missing(recipe)} and could not be downloaded "
                f"({failure}); put {names} into a folder {self.dataset}/ below the one that {DATA_ROOT} or "
                f"{PARAMS_YAML}: data.root names (see docs/data.md)"
            ) from failure
        damaged: list[str] = []
        if found := self._find_set(place, recipe.sets[0], damaged):
            return found
        raise UserError(damaged[0] if damaged else f"{place}: the download is not whole; run it again")

    def _missing(self, recipe: Recipe) -> str:
        """A folder that holds some of the files, and what it lacks."""
        for place in self._places(recipe):
            missing = [file.names[0] for file in recipe.sets[0] if file.find_in(place) is None]
            if len(missing) < len(recipe.sets[0]):
                return f" ({place} lacks {', '.join(missing)})"
        return ""


def describe_damage(path: Path, expected: tuple[str, ...]) -> str | None:
    """How a file differs from the published one, as one line that names it, or None.

    A `.gz` may be packed anew (Debian does so): other bytes, the same content.
    """
    if not expected:
        return f"{path}: found no published sum to check it by, allowed: the archive that it comes from"
    kind = "sha256" if len(expected[0]) == 64 else "md5"
    with path.open("rb") as file:
        found = _sum(file, kind)
    if found in expected or (path.suffix == ".gz" and _sum_of_content(path, kind) in expected):
        return None
    return f"{path}: damaged or another file: found {kind.upper()} {found}, expected {' or '.join(expected)}"


def read_chunks(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Read a file piece by piece; a packed one up to `LARGEST` bytes, since it may be a thousand times as long."""
    read = 0
    while chunk := file.read(CHUNK):
        read += len(chunk)
        if read > LARGEST and isinstance(file, gzip.GzipFile):
            raise OSError(f"it unpacks to more than {LARGEST} bytes")
        yield chunk


def _sum(file: BinaryIO | gzip.GzipFile, kind: str) -> str:
    whole = hashlib.new(kind, usedforsecurity=False)
    for chunk in read_chunks(file):
        whole.update(chunk)
    return whole.hexdigest()


def _sum_of_content(path: Path, kind: str) -> str | None:
    try:
        with gzip.open(path, "rb") as file:
            return _sum(file, kind)
    except (OSError, EOFError, zlib.error):
        return None
