"""Arrays of one's own, from a NumPy file or a Python function: plain real numbers, finite, of a size that fits.

An array of objects in a file is a pickle, and refused.
"""

import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from ebmbench.errors import UserError

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


def drawn(given: Any, count: int, said: str, name: str) -> Tensor:
    """What was drawn, in float32; anything but as many events of real numbers as were asked for is refused."""
    allowed = (
        f"allowed: {count} events of real numbers, ({count}, d), for count = {count} (params.yaml: datasets.{name})"
    )
    try:
        rows = torch.as_tensor(given).detach()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        found = f"found {type(given).__name__} ({' '.join(str(error).split())[:100]})"
        raise UserError(f"{said}: {found}, {allowed}") from error
    dense = rows.layout == torch.strided and rows.device.type != "meta"
    if not dense or rows.is_complex() or rows.dim() < 2 or len(rows) != count:
        kind = f"{rows.dtype}" + ("" if dense else f", {rows.layout}, {rows.device}")
        raise UserError(f"{said}: found shape {tuple(rows.shape)}, type {kind.replace('torch.', '')}, {allowed}")
    return rows.float().cpu()


def checked(rows: Tensor, said: str, name: str) -> Tensor:
    """Refuse what nothing can be learned from; `said` is what the rows come from, `name` the dataset."""
    where = f"(params.yaml: datasets.{name})"
    if rows.dim() < 2 or len(rows) < 2 or rows.numel() == 0:
        raise UserError(f"{said}: found shape {tuple(rows.shape)}, allowed: (N, d), N ≥ 2 {where}")
    if lost := int((~torch.isfinite(rows)).sum()):
        found = f"found {lost} of {rows.numel()} values that are not finite in single precision"
        raise UserError(f"{said}: {found}, allowed: finite ones {where}")
    if float(rows.std(0).max()) == 0:
        raise UserError(f"{said}: found constant data, allowed: data that vary {where}")
    return rows
