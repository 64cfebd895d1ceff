"""CIFAR-10's Python batches are pickles of a dict with an array and a list, read so that no program in them can run.

Of all names only the three that arrays are made of are known, and they stand for classes of this file that keep what
they are given: NumPy itself is not called.
"""

import io
from typing import Any

import numpy as np

from ebmbench.core.pickles import NotPlain, read_pickle


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


def read_batch(body: bytes) -> tuple[np.ndarray, list[int]]:
    """The images `(N, 3072)` and labels of one batch."""
    batch = read_pickle(io.BytesIO(body), KNOWN)
    try:
        pixels, labels = batch["data"].rows(), batch["labels"]
    except (NotPlain, MemoryError):
        raise
    except Exception as error:  # what is in the place of the array can raise nearly anything
        raise NotPlain(f"no batch: {error}") from error
    if pixels.ndim != 2 or len(labels) != len(pixels):
        raise NotPlain(f"found {len(labels)} labels for images of shape {pixels.shape}")
    return pixels, labels
