"""MNIST's format `idx`: four files, plain or packed by gzip, read by torchvision.

torchvision reads unpacked files in a folder layout of its own, so they are laid out in a temporary folder.
"""

import gzip
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ebmbench.core.torch_compat import torchvision
from ebmbench.data.common.download import RemoteFile
from ebmbench.data.common.files import Files, Recipe, RequiredFile, read_chunks
from ebmbench.data.common.images import Images
from ebmbench.errors import UserError

MNIST = {  # MD5 sums of its unpacked files; torchvision has those of the packed ones
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
# What torchvision raises on a file that is not whole: only possible if sums are not checked.
BROKEN = (AssertionError, ValueError, RuntimeError, IndexError, KeyError, EOFError, OSError, zlib.error, MemoryError)


def read(files: Files, kind: str, content: dict[str, str], system: Sequence[Path] = ()) -> Images:
    """Read the dataset that torchvision calls `kind`; `content` gives the MD5 sums of its unpacked files."""
    dataset = getattr(torchvision().datasets, kind)
    packed = dict(dataset.resources)
    required = [RequiredFile((f"{name}.gz", name), (packed[f"{name}.gz"], md5)) for name, md5 in content.items()]
    remotes = [RemoteFile(name, md5, [f"{mirror}{name}" for mirror in dataset.mirrors]) for name, md5 in packed.items()]
    paths = files.find(Recipe([required], [f"{kind}/raw"], remotes, system))
    with tempfile.TemporaryDirectory() as folder:
        try:
            _unpack(paths, Path(folder) / kind / "raw")
            (x, y), (x_test, y_test) = (_read_split(files, dataset, folder, split) for split in ("train", "test"))
        except BROKEN as error:
            raise UserError(f"{paths[0].parent}: not whole idx files ({' '.join(str(error).split())})") from error
    return Images(x, x_test, y, y_test)


def _read_split(files: Files, dataset: Any, folder: str, split: str) -> tuple[Tensor, Tensor]:
    whole = dataset(folder, train=split == "train")
    rows = files.keep(split, len(whole.data))
    return whole.data[rows].unsqueeze(1), whole.targets[rows].long()


def _unpack(paths: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in paths:
        if path.suffix != ".gz":
            (folder / path.name).symlink_to(path.absolute())
            continue
        with gzip.open(path) as packed, (folder / path.stem).open("wb") as plain:
            plain.writelines(read_chunks(packed))
