"""NumPy files of one's own: arrays of plain numbers, of a size that fits; an array of objects is a pickle and refused."""

import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np

LARGEST = 8 << 30  # bytes that an .npz unpacks to: data are held in memory as a whole


class Unreadable(Exception):
    """What is wrong with the file."""


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """The data, and `y` of an .npz that has one."""
    try:
        with path.open("rb") as file:
            return _stored(file)
    except Exception as error:  # a damaged header is parsed as Python would be, and can raise nearly anything
        raise Unreadable(" ".join(str(error).split())[:200] or type(error).__name__) from error


def _stored(file: BinaryIO) -> tuple[np.ndarray, np.ndarray | None]:
    if zipfile.is_zipfile(file):
        _fits(file)
    file.seek(0)
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        return _native(stored), None
    with stored:
        labels = stored["y"] if "y" in stored.files else None
        return _native(stored["x" if "x" in stored.files else stored.files[0]]), labels


def _fits(file: BinaryIO) -> None:
    with zipfile.ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > LARGEST:
        raise Unreadable(f"it unpacks to {size} bytes, allowed: {LARGEST}")


def _native(rows: np.ndarray) -> np.ndarray:
    """In this machine's order of bytes, and no float wider than torch has."""
    if not isinstance(rows, np.ndarray):
        raise Unreadable("found no array")
    if rows.dtype.kind == "f" and rows.dtype.itemsize > 8:
        return rows.astype(np.float64)
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)
