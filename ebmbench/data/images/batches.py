"""CIFAR-10's Python batches are pickles, and a pickle may run any program: this one reader lets none run.

A batch is a dict with an array and a list. Of all names that a pickle may ask for, only the three that arrays are made
of are known, and they stand for classes of this file that keep what they are given: NumPy itself is not called.
"""

import io
import pickle
from typing import Any

import numpy as np


class NotPlain(Exception):
    """The pickle asks for more than arrays, or is no pickle of a batch."""


class _Array:
    """Stands for `numpy.ndarray`; its state is (version, shape, type, order, bytes)."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def rows(self) -> np.ndarray:
        _, shape, _, fortran, body = self.state
        if fortran:
            raise NotPlain("found an array in column order")
        packed = body.encode("latin1") if isinstance(body, str) else body  # Python 2 had one type for both
        return np.frombuffer(packed, dtype=np.uint8).reshape(shape).copy()


class _Type:
    """Stands for `numpy.dtype`; the bytes are taken as uint8 whatever it says, and must then fit the shape."""

    def __init__(self, *_: Any) -> None: ...

    def __setstate__(self, _: Any) -> None: ...


def _reconstruct(*_: Any) -> _Array:
    return _Array()


KNOWN: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise NotPlain(f"refused: the pickle asks for {module}.{name}")
        return KNOWN[module, name]


def read_batch(body: bytes) -> tuple[np.ndarray, list[int]]:
    """The images `(N, 3072)` and labels of one batch."""
    try:
        batch = _Reader(io.BytesIO(body), encoding="latin1").load()
        pixels, labels = batch["data"].rows(), batch["labels"]
    except (NotPlain, MemoryError):
        raise
    except Exception as error:  # a broken pickle can raise nearly anything
        raise NotPlain(f"no batch: {error}") from error
    if pixels.ndim != 2 or len(labels) != len(pixels):
        raise NotPlain(f"found {len(labels)} labels for images of shape {pixels.shape}")
    return pixels, labels
