"""NumPy files of one's own: arrays of plain numbers, of a size that fits; an array of objects is a pickle and refused."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

LARGEST = 8 << 30  # bytes that an .npz unpacks to: data are held in memory as a whole
UNREADABLE = (ValueError, OSError, EOFError, IndexError, KeyError, RuntimeError, NotImplementedError, MemoryError)
UNREADABLE += (zipfile.BadZipFile, zlib.error)


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """The data, and `y` of an .npz that has one; whatever is wrong with the file raises one of `UNREADABLE`."""
    if zipfile.is_zipfile(path):
        _fits(path)
    stored = np.load(path, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        return _native(stored), None
    with stored:
        labels = stored["y"] if "y" in stored.files else None
        return _native(stored["x" if "x" in stored.files else stored.files[0]]), labels


def _fits(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > LARGEST:
        raise ValueError(f"it unpacks to {size} bytes, allowed: {LARGEST}")


def _native(rows: np.ndarray) -> np.ndarray:
    """In this machine's order of bytes, and no float wider than torch has."""
    if rows.dtype.kind == "f" and rows.dtype.itemsize > 8:
        return rows.astype(np.float64)
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)
