"""What is the same for every model of a dataset: the truth on a grid, say, or features of real images.

It is computed once and stored in `work/` by the digest of all that produces it, so that every stage of the dataset
finds it. Like every result in `work/`, a damaged one is made anew.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import save_array
from ebmbench.workspace.store import Store, digest

Tensors = dict[str, Tensor]


class Shared:
    """Tensors by what they are computed from; `origin` is what all of them depend on: data, density, features."""

    def __init__(self, store: Store, origin: Any) -> None:
        self.store, self.origin = store, digest(origin)
        self._loaded: dict[str, Tensors] = {}

    def obtain(self, module: str, make: Callable[[], Tensors], **inputs: Any) -> Tensors:
        """The tensors that `make()` gives, or gave before; not to be changed in place.

        `module` holds the code of `make`, and `inputs` are the JSON-like values that it uses, beside the origin.
        """
        key = digest({"inputs": inputs, "module": module, "origin": self.origin, "code": code_hash([module])})
        if key not in self._loaded:
            self._loaded[key] = _read(self.store.obtain(key, lambda _, result: _write(result, make())))
        return self._loaded[key]


def _write(folder: Path, tensors: Tensors) -> None:
    for name, tensor in tensors.items():
        save_array(folder / f"{name}.npy", tensor.numpy())


def _read(folder: Path) -> Tensors:
    return {file.stem: torch.from_numpy(np.load(file, allow_pickle=False)) for file in sorted(folder.glob("*.npy"))}
