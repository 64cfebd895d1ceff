"""CIFAR-10: small photographs of ten kinds of things, 3×32×32 in 256 values; 50 000 to train, 10 000 to test.

There are two formats: binary records of 3073 bytes (label, then 3×32×32 values) and Python's pickles. The binary
archive is what is downloaded: nothing in it can be executed. A pickle is a program, so torchvision reads the pickles
only if their MD5 sums are the published ones, even where sums are not checked otherwise. Of the unpacked binary files
nobody publishes sums: theirs (SHA-256) were taken here, of records whose mean values are the published ones.
"""

import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.torch_compat import torchvision
from ebmbench.data.common.download import RemoteFile
from ebmbench.data.common.files import Files, Recipe, RequiredFile
from ebmbench.data.common.images import Images
from ebmbench.errors import UserError

PAPER = (
    "Krizhevsky, Learning multiple layers of features from tiny images, technical report, University of Toronto, 2009"
)
YEAR = 2009
LINK = "https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf"
LICENCE = "none stated by its authors"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
PACKED, PYTHON = "cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"
TRAIN, TEST = [f"data_batch_{number}" for number in range(1, 6)], ["test_batch"]
MD5 = {  # of the archives: https://www.cs.toronto.edu/~kriz/cifar.html; of the pickles: torchvision
    PACKED: "c32a1d4ab5d03f1284b67883e8d87530",
    PYTHON: "c58f30108f718f92721af3b95e74349a",
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
SHA256 = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
SUMS = MD5 | SHA256
LARGEST = 64 << 20  # bytes of a member of the archive; a batch has 31 million
RECORD = 1 + 3 * 32 * 32
BROKEN = (OSError, EOFError, tarfile.TarError, zlib.error, ValueError, KeyError, RuntimeError, MemoryError)
Split = tuple[Tensor, Tensor]


def images(files: Files) -> Images:
    """The official split."""
    return read(files, SUMS)


def read(files: Files, sums: Mapping[str, str]) -> Images:
    """Read both splits from whichever format is there; `sums` holds the known ones by file name."""
    paths = files.find(_recipe(sums))
    binary = paths[0].name == PACKED or paths[0].suffix == ".bin"
    try:
        (x, y), (x_test, y_test) = _read_records(paths) if binary else _read_pickles(paths, sums)
    except BROKEN as error:
        raise UserError(f"{paths[0]}: not whole CIFAR-10 batches ({' '.join(str(error).split())})") from error
    train, test = files.keep("train", len(x)), files.keep("test", len(x_test))
    return Images(x[train], x_test[test], y[train], y_test[test])


def _recipe(sums: Mapping[str, str]) -> Recipe:
    binary = [RequiredFile((PACKED,), (sums[PACKED],))]
    packed = [RequiredFile((PYTHON,), (sums[PYTHON],), pickled=True)]
    plain = [RequiredFile((f"cifar-10-batches-py/{name}", name), (sums[name],), pickled=True) for name in TRAIN + TEST]
    names = [f"{name}.bin" for name in TRAIN + TEST]
    loose = [RequiredFile((f"cifar-10-batches-bin/{name}", name), (sums[name],)) for name in names]
    return Recipe([binary, packed, plain, loose], [], [RemoteFile(PACKED, sums[PACKED], [URL])])


def _read_records(paths: list[Path]) -> tuple[Split, Split]:
    batches = {}
    for name, body in _contents(paths):
        records = torch.as_tensor(np.frombuffer(body, dtype=np.uint8).copy()).reshape(-1, RECORD)
        batches[name] = records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()

    def join(names: list[str]) -> Split:
        x, y = (torch.cat(parts) for parts in zip(*(batches[f"{name}.bin"] for name in names), strict=True))
        return x, y

    return join(TRAIN), join(TEST)


def _read_pickles(paths: list[Path], md5: Mapping[str, str]) -> tuple[Split, Split]:
    """Read private copies with torchvision, which compares each with its sum once more before it unpickles it."""
    sums = {"train_list": [(name, md5[name]) for name in TRAIN], "test_list": [(name, md5[name]) for name in TEST]}
    # The file of class names is one pickle more, and we know them.
    more = {"base_folder": "", "_load_meta": lambda _: None}
    reader = type("CIFAR10", (torchvision().datasets.CIFAR10,), {**sums, **more})
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's: the pickles of Python 2 use names that have moved
        for name, body in _contents(paths):
            (Path(folder) / name).write_bytes(body)
        train, test = (
            (torch.as_tensor(split.data).permute(0, 3, 1, 2), torch.as_tensor(split.targets))
            for split in (reader(folder, train=True), reader(folder, train=False))
        )
    return train, test


def _contents(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the batches, from an archive or from single files."""
    if paths[0].suffix != ".gz":
        yield from ((path.name, path.read_bytes()) for path in paths)
        return
    with tarfile.open(paths[0]) as archive:
        for member in archive:
            if member.size > LARGEST:
                raise ValueError(f"{member.name} holds {member.size} bytes, a batch at most {LARGEST}")
            file = archive.extractfile(member) if member.isfile() else None
            name = Path(member.name).name
            if file is not None and name.removesuffix(".bin") in TRAIN + TEST:
                yield name, file.read()
