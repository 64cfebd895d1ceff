"""CIFAR-10's two formats: binary records of 3073 bytes (label, then 3×32×32 values), and Python's pickles.

The binary archive is what is downloaded: nothing in it can be executed. Its single files have no published sums, so
unpacked they are refused unless checks are off. torchvision's class is not used to read: it loads the pickles.
"""

import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.pickles import NotPlain
from ebmbench.core.torch_compat import torchvision
from ebmbench.data.images.batches import read_batch
from ebmbench.data.images.download import Remote
from ebmbench.data.images.files import Files, Recipe, Wanted
from ebmbench.data.images.images import Images
from ebmbench.errors import UserError

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
MD5 = "c32a1d4ab5d03f1284b67883e8d87530"  # https://www.cs.toronto.edu/~kriz/cifar.html
LARGEST = 64 << 20  # bytes of a member of the archive; a batch has 31 million
RECORD = 1 + 3 * 32 * 32
BROKEN = (
    OSError,
    EOFError,
    tarfile.TarError,
    zlib.error,
    ValueError,
    TypeError,
    KeyError,
    RuntimeError,
    NotPlain,
    MemoryError,
)


def read(files: Files) -> Images:
    """Both splits, from whichever format is there."""
    paths = files.find(_recipe())
    try:
        batches = _batches(paths)
        train = [batches[stem] for stem in sorted(batches) if stem.startswith("data_batch_")]
        splits = [_split(files, "train", train), _split(files, "test", [batches["test_batch"]])]
    except BROKEN as error:
        raise UserError(f"{paths[0]}: not whole CIFAR-10 batches ({' '.join(str(error).split())})") from error
    (x, y), (x_test, y_test) = splits
    return Images(x, x_test, y, y_test)


def _recipe() -> Recipe:
    dataset = torchvision().datasets.CIFAR10
    pickles = [*dataset.train_list, *dataset.test_list]
    binary = [Wanted(("cifar-10-binary.tar.gz",), (MD5,))]
    packed = [Wanted((dataset.filename,), (dataset.tgz_md5,))]
    plain = [Wanted((f"{dataset.base_folder}/{name}", name), (md5,)) for name, md5 in pickles]
    loose = [Wanted((f"cifar-10-batches-bin/{name}.bin", f"{name}.bin")) for name, _ in pickles]
    return Recipe([binary, packed, plain, loose], [], lambda: [Remote("cifar-10-binary.tar.gz", MD5, [URL])])


def _batches(paths: list[Path]) -> dict[str, tuple[Tensor, Tensor]]:
    """Images and labels by the stem of the batch's name."""
    contents = _archive(paths[0]) if paths[0].suffix == ".gz" else ((path.name, path.read_bytes()) for path in paths)
    wanted = ("data_batch_", "test_batch")
    return {name.removesuffix(".bin"): _parse(name, body) for name, body in contents if name.startswith(wanted)}


def _archive(path: Path) -> Iterable[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if member.size > LARGEST:
                raise ValueError(f"{member.name} holds {member.size} bytes, a batch at most {LARGEST}")
            if file is not None:
                yield Path(member.name).name, file.read()


def _parse(name: str, body: bytes) -> tuple[Tensor, Tensor]:
    if not name.endswith(".bin"):
        pixels, labels = read_batch(body)
        return torch.as_tensor(pixels).reshape(-1, 3, 32, 32), torch.as_tensor(labels)
    records = torch.as_tensor(np.frombuffer(body, dtype=np.uint8).copy()).reshape(-1, RECORD)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()


def _split(files: Files, split: str, batches: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    x, y = (torch.cat(parts) for parts in zip(*batches, strict=True))
    rows = files.keep(split, len(x))
    return x[rows], y[rows]
