"""Files of weights as torch writes them (`.pth`), read without torch's own loading and without running anything.

A tensor is a view (offset, size, stride) of a storage; a pickle has the views, and the storages lie beside it:

- since torch 1.6 in a zip archive, as `<name>/data.pkl` and one `<name>/data/<key>` for each storage;
- before, behind it in one file: magic number, version, system, views and list of keys are pickles, one after the other,
  then every storage as its number of elements (8 bytes) and its bytes.

The pickle is read by `core/pickles.py`. Before a tensor is made its view is seen to lie in its storage, no element in
another, and all of them together to take no more bytes than the file: what does was damaged, or made to do harm.
"""

import io
import math
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ebmbench.core.pickles import Name, NotPlain, read_pickle

LARGEST = 2**30  # bytes of a file; Inception-v3's has 95 million
MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001  # torch.serialization
TYPES = {
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


class Storage(NamedTuple):
    """A row of elements outside the pickle. A tuple, like `View`: a pickle cannot change it once it is made."""

    key: str
    dtype: torch.dtype
    length: int


class View(NamedTuple):
    """Stands for a tensor; all fields are as the pickle gave them."""

    storage: Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def length(self) -> int:
        """Elements of the tensor, once the view is seen to lie in its storage with no element in two places."""
        whole = [self.offset, *self.size, *self.stride]
        if len(self.size) != len(self.stride) or not all(type(number) is int and number >= 0 for number in whole):
            raise NotPlain(f"found a tensor of size {self.size} and stride {self.stride}")
        reach = 0
        for stride, size in sorted(zip(self.stride, self.size, strict=True)):
            if size > 1 and stride <= reach:
                raise NotPlain(f"found a tensor of size {self.size} whose elements lie in each other")
            reach += (size - 1) * stride if size > 1 else 0
        count = math.prod(self.size)
        if count and self.offset + reach >= self.storage.length:
            raise NotPlain(f"found a tensor of size {self.size} beyond its storage of {self.storage.length}")
        return count

    def tensor(self, body: bytearray) -> Tensor:
        """The elements, copied."""
        if len(body) != self.storage.length * self.storage.dtype.itemsize:
            raise NotPlain(f"found {len(body)} bytes for a storage of {self.storage.length} elements")
        if not math.prod(self.size):
            return torch.empty(self.size, dtype=self.storage.dtype)
        row = torch.frombuffer(body, dtype=self.storage.dtype)
        return row.as_strided(self.size, self.stride, self.offset).clone(memory_format=torch.contiguous_format)


class _Named(dict[str, View]):
    """Stands for `OrderedDict`; what a network's own carries beside its entries is left out."""

    def __setstate__(self, _: Any) -> None: ...


def _view(storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> View:
    return View(storage, offset, size, stride)


KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): _Named,
    ("torch._utils", "_rebuild_tensor_v2"): _view,
    **{("torch", f"{name}Storage"): dtype for name, dtype in TYPES.items()},
}


def _storage(pid: Any) -> Storage:
    """`("storage", type, key, device, elements)`, in the older form with a sixth part for views of storages."""
    word, kind, key, _, length, *of_another = pid
    dtype = kind.meaning if isinstance(kind, Name) else None
    if word != "storage" or not isinstance(dtype, torch.dtype) or any(of_another) or type(length) is not int:
        raise NotPlain("found a storage of a kind that is not known")
    return Storage(str(key), dtype, length)


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by their names; `NotPlain` if it holds anything else, or is not whole."""
    with path.open("rb") as file:
        body = file.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise NotPlain(f"found more than {LARGEST} bytes")
    try:
        views, stored = (_zipped if body.startswith(b"PK\x03\x04") else _in_a_row)(io.BytesIO(body))
        return _tensors(views, stored, len(body))
    except (NotPlain, MemoryError):
        raise
    except Exception as error:  # a damaged or foreign file may raise nearly anything
        raise NotPlain(f"a damaged file: {error}") from error


def _tensors(views: Any, stored: Callable[[str], bytearray], bound: int) -> dict[str, Tensor]:
    if not isinstance(views, dict) or not all(type(k) is str and isinstance(v, View) for k, v in views.items()):
        raise NotPlain("found other things than tensors by name")
    if sum(view.length() * view.storage.dtype.itemsize for view in views.values()) > bound:
        raise NotPlain("found tensors that are larger than the file")
    return {name: view.tensor(stored(view.storage.key)) for name, view in views.items()}


def _zipped(file: io.BytesIO) -> tuple[Any, Callable[[str], bytearray]]:
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    # torch compresses nothing, so an archive that unpacks to more than it is was made to do harm.
    if sum(member.file_size for member in members) > file.getbuffer().nbytes:
        raise NotPlain("found an archive that unpacks to more than its own size")
    places = [member.filename.removesuffix("data.pkl") for member in members if member.filename.endswith("/data.pkl")]
    if len(places) != 1:
        raise NotPlain(f"found a zip archive with {len(places)} files data.pkl")
    if f"{places[0]}byteorder" in archive.namelist() and archive.read(f"{places[0]}byteorder") != b"little":
        raise NotPlain("found numbers with their bytes in reverse")
    views = read_pickle(io.BytesIO(archive.read(f"{places[0]}data.pkl")), KNOWN, _storage)
    return views, cache(lambda key: bytearray(archive.read(f"{places[0]}data/{key}")))


def _in_a_row(file: io.BytesIO) -> tuple[Any, Callable[[str], bytearray]]:
    if read_pickle(file, {}) != MAGIC or read_pickle(file, {}) != VERSION:
        raise NotPlain("found neither a zip archive nor torch's older format")
    if read_pickle(file, {})["little_endian"] is not True:
        raise NotPlain("found numbers with their bytes in reverse")
    storages: dict[str, Storage] = {}
    views = read_pickle(file, KNOWN, lambda pid: storages.setdefault((one := _storage(pid)).key, one))
    bodies = {key: _next_storage(file, storages[key]) for key in read_pickle(file, {})}
    return views, bodies.__getitem__


def _next_storage(file: io.BytesIO, storage: Storage) -> bytearray:
    if int.from_bytes(file.read(8), "little") != storage.length:
        raise NotPlain(f"found a storage of another length than {storage.length}")
    return bytearray(file.read(storage.length * storage.dtype.itemsize))
