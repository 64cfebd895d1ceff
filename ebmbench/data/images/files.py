"""Where the files of an image dataset are: looked for, checked, and downloaded if they are nowhere.

The order: the folder that `EBMBENCH_DATA` names, `params.yaml: data.root`, a package of the system, an earlier
download, the network. In each folder: `<dataset>/`, torchvision's own layout, and the folder itself.
A file is used only if its MD5 sum is the published one, so a half-finished copy is never mistaken for data.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from ebmbench.data.images.checksums import complaint
from ebmbench.data.images.download import Failed, Fetch, download
from ebmbench.data.images.images import subset
from ebmbench.errors import UserError
from ebmbench.workspace.layout import DOWNLOADS, PARAMS_YAML

ROOT = "EBMBENCH_DATA"
UNVERIFIED = "EBMBENCH_DATA_UNVERIFIED"


@dataclass(frozen=True)
class Wanted:
    """A file under any of some names, and the MD5 sums it may have: its own, or of its content if it is a `.gz`.

    A file without a published sum is taken only if sums are not checked; a folder has none.
    """

    names: tuple[str, ...]
    md5: tuple[str, ...] = ()
    folder: bool = False

    def at(self, place: Path) -> Path | None:
        """The first of the names that exists in that folder."""
        paths = (place / name for name in self.names)
        return next((path for path in paths if (path.is_dir() if self.folder else path.is_file())), None)


@dataclass(frozen=True)
class Recipe:
    """What a dataset consists of: sets of files, any one of which will do, the folders in which torchvision keeps them,
    packages of the system that have them, and how to download the first set.
    """

    sets: Sequence[Sequence[Wanted]]
    layouts: Sequence[str]
    fetch: Fetch
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
    download: Callable[[Fetch, Path], None] = field(default=download, repr=False)

    def keep(self, split: str, count: int) -> Tensor:
        """Indices of the images of a split that are kept, out of `count`."""
        return subset(count, self.train if split == "train" else self.test, self.dataset, split)

    def find(self, recipe: Recipe) -> list[Path]:
        """The files of the first set that is somewhere whole."""
        damaged: list[str] = []
        for place in self._places(recipe):
            for wanted in recipe.sets:
                found = self._whole(place, wanted, damaged)
                if found:
                    return found
        if damaged:
            raise UserError(f"{damaged[0]}; replace or remove it")
        return self._downloaded(recipe)

    def _places(self, recipe: Recipe) -> Iterator[Path]:
        for root in [*self.roots, *recipe.system, self.downloads]:
            for layout in dict.fromkeys([self.dataset, *recipe.layouts, *self._nested(recipe), "."]):
                yield root / layout

    def _nested(self, recipe: Recipe) -> list[str]:
        return [f"{self.dataset}/{layout}" for layout in recipe.layouts]

    def _whole(self, place: Path, wanted: Sequence[Wanted], damaged: list[str]) -> list[Path]:
        """The paths of all wanted files in a folder; none if one is missing or damaged."""
        paths = [path for file in wanted if (path := file.at(place)) is not None]
        if len(paths) < len(wanted):
            return []
        sums = [(path, file.md5) for path, file in zip(paths, wanted, strict=True) if self.verify and not file.folder]
        wrong = [line for path, md5 in sums if (line := complaint(path, md5)) is not None]
        damaged += wrong
        return [] if wrong else paths

    def _downloaded(self, recipe: Recipe) -> list[Path]:
        place = self.downloads / self.dataset
        try:
            self.download(recipe.fetch, place)
        except Failed as failure:
            names = ", ".join(file.names[0] for file in recipe.sets[0])
            raise UserError(
                f"{self.dataset}: its files are not here{self._some(recipe)} and could not be downloaded ({failure}); "
                f"put {names} into a folder {self.dataset}/ below the one that {ROOT} or {PARAMS_YAML}: data.root "
                f"names (see docs/data.md)"
            ) from failure
        damaged: list[str] = []
        if found := self._whole(place, recipe.sets[0], damaged):
            return found
        raise UserError(damaged[0] if damaged else f"{place}: the download is not whole; run it again")

    def _some(self, recipe: Recipe) -> str:
        """A folder that holds some of the files, and what it lacks."""
        for place in self._places(recipe):
            missing = [file.names[0] for file in recipe.sets[0] if file.at(place) is None]
            if len(missing) < len(recipe.sets[0]):
                return f" ({place} lacks {', '.join(missing)})"
        return ""


def files_of(dataset: str, caps: tuple[int, int], root: Path, data_root: str | None) -> Files:
    """The files as the user's settings say: environment first, then `params.yaml: data.root`."""
    named = os.environ.get(ROOT)
    if named and not Path(named).is_dir():
        raise UserError(f"{ROOT}: found {named!r}, but there is no such folder")
    given = [Path(named).absolute()] if named else []
    own = [root / Path(data_root).expanduser()] if data_root else []
    verify = os.environ.get(UNVERIFIED, "") in ("", "0")
    if not verify:
        print(f"warning: {UNVERIFIED}: the files of {dataset} are not checked; quote no number", file=sys.stderr)
    downloads = own[0] if own else root / DOWNLOADS
    return Files(dataset, *caps, (*given, *own), downloads, verify)
