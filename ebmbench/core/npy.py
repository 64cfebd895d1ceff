"""Arrays written as NumPy's own files, through Python's.

`numpy.save` hands a real file to C's `fwrite` and does not look whether the last piece arrived: on a full disk it ends
well and the file is short. Given something that can only `write`, it writes the same bytes and hears of every error.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from ebmbench.core.files import replacing


class _Writer:
    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write


def save_array(path: Path, rows: np.ndarray) -> None:
    """Write an .npy whole or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(_Writer(file), rows, allow_pickle=False)
