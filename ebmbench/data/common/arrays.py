"""Arrays of the user's own, from a NumPy file or a Python function: plain real numbers, finite, of a size that fits.

An array of objects in a file is a pickle, and refused. A NumPy file of type uint8 and shape (N, H, W) or (N, C, H, W)
holds images.
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


def read_arrays(path: Path, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The data, and `y` of an .npz that has one; `name` is the dataset."""
    try:
        with path.open("rb") as file:
            rows, labels = _load(file)
    except Exception as error:  # a damaged header is parsed as Python would be, and can raise nearly anything
        words = " ".join(str(error).split())[:200] or type(error).__name__
        found = f"{path.name}: not a NumPy file of plain numbers ({words})"
        raise UserError(f"{found} (params.yaml: datasets.{name})") from error
    if rows.ndim < 2 or len(rows) < 10 or rows.size == 0 or rows.dtype.kind not in "fiu":
        found = f"{path.name}: found shape {rows.shape}, type {rows.dtype}"
        raise UserError(f"{found}, allowed: at least 10 rows of numbers (N, d)")
    return rows, labels


def _load(file: BinaryIO) -> tuple[np.ndarray, np.ndarray | None]:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST:
            raise Unreadable(f"it unpacks to {size} bytes, allowed: {LARGEST}")
    file.seek(0)
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        return _to_native(stored), None
    with stored:
        labels = stored["y"] if "y" in stored.files else None
        return _to_native(stored["x" if "x" in stored.files else stored.files[0]]), labels


def _to_native(rows: np.ndarray) -> np.ndarray:
    """In this machine's order of bytes, and no float wider than torch has."""
    if not isinstance(rows, np.ndarray):
        raise Unreadable("found no array")
    if rows.dtype.kind == "f" and rows.dtype.itemsize > 8:
        return rows.astype(np.float64)
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)


def are_images(rows: np.ndarray) -> bool:
    """Whether a NumPy file's array is taken as images: grey values in one byte, `(N, H, W)` or `(N, C, H, W)`."""
    return rows.dtype == np.uint8 and rows.ndim in (3, 4)


def add_channels(rows: np.ndarray, file: str) -> Tensor:
    """Images as `(N, C, H, W)`."""
    if rows.ndim == 3:
        return torch.as_tensor(rows).unsqueeze(1)
    if rows.shape[1] not in (1, 3):
        found = f"{file}: found images of shape {rows.shape}"
        raise UserError(f"{found}, allowed: (N, C, H, W), channels first, 1 or 3 of them")
    return torch.as_tensor(rows)


def encode_labels(labels: np.ndarray | None, count: int, name: str) -> tuple[Tensor | None, list[str]]:
    """Labels as 0 … K − 1, and the K values they had as names of classes."""
    if labels is None:
        return None, []
    if labels.shape != (count,) or labels.dtype.kind not in "iuU":
        raise UserError(
            f"datasets.{name}: found labels y of shape {labels.shape}, type {labels.dtype}, "
            f"allowed: whole numbers or names of shape ({count},)"
        )
    values, places = np.unique(labels, return_inverse=True)
    return torch.as_tensor(places).long(), [str(value) for value in values]


def to_rows(given: Any, count: int, call: str, name: str) -> Tensor:
    """What `call` returned, in float32; it must be `count` events of real numbers."""
    allowed = f"allowed: {count} events of real numbers, ({count}, d), for count = {count}"
    allowed += f" (params.yaml: datasets.{name})"
    try:
        rows = torch.as_tensor(given).detach()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        found = f"found {type(given).__name__} ({' '.join(str(error).split())[:100]})"
        raise UserError(f"{call}: {found}, {allowed}") from error
    dense = rows.layout == torch.strided and rows.device.type != "meta"
    if not dense or rows.is_complex() or rows.dim() < 2 or len(rows) != count:
        kind = f"{rows.dtype}" + ("" if dense else f", {rows.layout}, {rows.device}")
        raise UserError(f"{call}: found shape {tuple(rows.shape)}, type {kind.replace('torch.', '')}, {allowed}")
    return rows.float().cpu()


def check_rows(rows: Tensor, origin: str, name: str) -> Tensor:
    """Refuse rows that nothing can be learned from; `origin` is the file or call they come from."""
    where = f"(params.yaml: datasets.{name})"
    if rows.dim() < 2 or len(rows) < 2 or rows.numel() == 0:
        raise UserError(f"{origin}: found shape {tuple(rows.shape)}, allowed: (N, d), N ≥ 2 {where}")
    if lost := int((~torch.isfinite(rows)).sum()):
        found = f"found {lost} of {rows.numel()} values that are not finite in single precision"
        raise UserError(f"{origin}: {found}, allowed: finite ones {where}")
    if float(rows.std(0).max()) == 0:
        raise UserError(f"{origin}: found constant data, allowed: data that vary {where}")
    return rows
