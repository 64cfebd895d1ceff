"""Named arrays in one file, whole or not there."""

from pathlib import Path

import numpy as np

from ebmbench.core.files import replacing

Arrays = dict[str, np.ndarray]


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write an .npz whole; it is the same bytes for the same arrays."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_arrays(path: Path) -> Arrays:
    """Read an .npz."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
