"""MNIST's format, `idx`: four files, plain or packed by gzip, read by torchvision.

Only a layout of its own, with unpacked files, is what torchvision reads: it is laid out in a temporary folder.
"""

import gzip
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ebmbench.core.torch_compat import torchvision
from ebmbench.data.images.checksums import chunks
from ebmbench.data.images.download import Remote
from ebmbench.data.images.files import Files, Recipe, Wanted
from ebmbench.data.images.images import Images
from ebmbench.errors import UserError

# What torchvision raises on a file that is not whole: only possible if sums are not checked.
BROKEN = (AssertionError, ValueError, RuntimeError, IndexError, KeyError, EOFError, OSError, zlib.error, MemoryError)


def read(files: Files, kind: str, content: dict[str, str], system: Sequence[Path] = ()) -> Images:
    """The dataset that torchvision calls `kind`; `content` gives the MD5 sums of its unpacked files."""
    dataset = getattr(torchvision().datasets, kind)
    packed = dict(dataset.resources)
    wanted = [Wanted((f"{name}.gz", name), (packed[f"{name}.gz"], md5)) for name, md5 in content.items()]

    def fetch() -> list[Remote]:
        return [Remote(name, md5, [f"{mirror}{name}" for mirror in dataset.mirrors]) for name, md5 in packed.items()]

    paths = files.find(Recipe([wanted], [f"{kind}/raw"], fetch, system))
    with tempfile.TemporaryDirectory() as folder:
        try:
            _lay_out(paths, Path(folder) / kind / "raw")
            splits = [_split(files, dataset(folder, train=split == "train"), split) for split in ("train", "test")]
        except BROKEN as error:
            raise UserError(f"{paths[0].parent}: not whole idx files ({' '.join(str(error).split())})") from error
    (train, train_labels), (test, test_labels) = splits
    return Images(train, test, train_labels, test_labels)


def _lay_out(paths: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in paths:
        if path.suffix != ".gz":
            (folder / path.name).symlink_to(path.absolute())
            continue
        with gzip.open(path) as packed, (folder / path.stem).open("wb") as plain:
            plain.writelines(chunks(packed))


def _split(files: Files, dataset: Any, split: str) -> tuple[Tensor, Tensor]:
    rows = files.keep(split, len(dataset.data))
    return dataset.data[rows].unsqueeze(1), dataset.targets[rows].long()
