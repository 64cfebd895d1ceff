"""CelebA: aligned faces, 3×32×32 (or 3×64×64, `function: images_64`); 162 770 to train, 19 962 to test.

The customary crop: 140×140 from the centre of the aligned 178×218 photograph, then resized (Song & Ermon 2019, sec. 5).
The official split by identities; its validation part is not used, nor are the attributes: there are no labels.

The publisher has text lists, which torchvision reads, and 202 599 JPEG files in one archive. The archive is read as it
is, since unpacking takes as much space again. A folder of the JPEG files is accepted too, although it has no published
sum: it must hold every file of the list, and every file must be a whole JPEG.
"""

import io
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ebmbench.core.torch_compat import torchvision
from ebmbench.data.common.download import RemoteFile
from ebmbench.data.common.files import Files, Recipe, RequiredFile
from ebmbench.data.common.images import Images
from ebmbench.errors import UserError

PAPER = "Liu, Luo, Wang & Tang, Deep learning face attributes in the wild, ICCV 2015"
YEAR = 2015
LINK = "https://arxiv.org/abs/1411.7766"
LICENCE = "non-commercial research only"
CLASSES: list[str] = []

CROP = 140
ARCHIVE = "img_align_celeba.zip"
FOLDER = "img_align_celeba"
LARGEST = 1 << 20  # bytes of a photograph; they have 7 000 on average
BROKEN: tuple[type[Exception], ...] = (OSError, KeyError, ValueError, SyntaxError, RuntimeError, NotImplementedError)
BROKEN += (zlib.error, zipfile.BadZipFile, Image.DecompressionBombError)
Opener = Callable[[str], bytes]


def images(files: Files) -> Images:
    """32×32."""
    return read(files, 32)


def images_64(files: Files) -> Images:
    """64×64."""
    return read(files, 64)


def read(files: Files, side: int) -> Images:
    """Both splits, cropped and resized to `side`×`side`."""
    *lists, photographs = files.find(_recipe())
    names = {split: _names(files, lists, split) for split in ("train", "test")}
    splits = {split: torch.empty(len(names[split]), 3, side, side, dtype=torch.uint8) for split in names}
    with _photographs(photographs) as opener:
        for split, rows in splits.items():
            for row, name in zip(rows, names[split], strict=True):
                row.copy_(_crop(_open(opener, name, photographs), side))
    return Images(splits["train"], splits["test"])


def _recipe() -> Recipe:
    listed = torchvision().datasets.CelebA.file_list
    texts = [RequiredFile((name,), (md5,)) for _, md5, name in listed if name != ARCHIVE]
    packed = [RequiredFile((name,), (md5,)) for _, md5, name in listed if name == ARCHIVE]
    folder = [RequiredFile((FOLDER,), folder=True)]
    remotes = [RemoteFile(name, md5, drive=drive) for drive, md5, name in listed]
    return Recipe([[*texts, *packed], [*texts, *folder]], [], remotes)


def _names(files: Files, lists: list[Path], split: str) -> list[str]:
    """The file names of a split, read by torchvision in its own layout; the sums are checked already."""
    dataset = torchvision().datasets.CelebA
    unchecked = type("CelebA", (dataset,), {"file_list": [(drive, None, name) for drive, _, name in dataset.file_list]})
    with tempfile.TemporaryDirectory() as root:
        base = Path(root) / dataset.base_folder
        (base / FOLDER).mkdir(parents=True)
        for path in lists:
            (base / path.name).symlink_to(path.absolute())
        try:
            names = unchecked(root, split=split, target_type=[]).filename
        except (ValueError, IndexError, RuntimeError, TypeError) as error:
            raise UserError(f"{lists[0].parent}: not whole lists of CelebA ({' '.join(str(error).split())})") from error
    return [names[int(row)] for row in files.keep(split, len(names))]


@contextmanager
def _photographs(source: Path) -> Iterator[Opener]:
    """A function from a photograph's name to its bytes."""
    if source.is_dir():
        yield lambda name: (source / name).read_bytes()
        return
    try:
        archive = zipfile.ZipFile(source)
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(f"{source}: not a whole archive ({error})") from error
    with archive:
        yield lambda name: _member(archive, f"{FOLDER}/{name}")


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if (size := archive.getinfo(name).file_size) > LARGEST:
        raise OSError(f"it holds {size} bytes, a photograph at most {LARGEST}")
    return archive.read(name)


def _open(opener: Opener, name: str, source: Path) -> Image.Image:
    try:
        return Image.open(io.BytesIO(opener(name))).convert("RGB")
    except BROKEN as error:
        raise UserError(f"{source}: {name} is missing or damaged ({error})") from error


def _crop(photograph: Image.Image, side: int) -> Tensor:
    transforms = torchvision().transforms.functional
    small = transforms.resize(transforms.center_crop(photograph, [CROP, CROP]), [side, side])
    return torch.as_tensor(np.array(small)).permute(2, 0, 1)
