"""Open a dataset's source: a Python file with `density()` or `sample(count, generator)`, or a NumPy file of shape (N, …).

The datasets that ship with ebmbench are such Python files too; a dataset of one's own is one more entry in `params.yaml`.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Generator, Tensor

from ebmbench.core.errors import UserError
from ebmbench.core.params import FILE, Dataset
from ebmbench.core.streams import stream
from ebmbench.data.densities.density import Density

DATA_SEED = 0  # the data are the same for every seed of a benchmark


@dataclass(frozen=True)
class Source:
    """Train and test split `(N, *event)` in float32, and the exact density where the source gives one."""

    train: Tensor
    test: Tensor
    density: Density | None
    licence: str


def open_source(name: str, entry: Dataset, root: Path) -> Source:
    """Read a dataset's source and split it."""
    path = source_path(root, entry.source, name)
    if path.suffix == ".py":
        return _from_python(name, entry, path)
    rows = torch.as_tensor(_array(path, name)).float()
    order = torch.randperm(len(rows), generator=stream(DATA_SEED, "data", name, "split"))
    test = min(entry.test, len(rows) // 5)
    return Source(
        _checked(rows[order[test:]][: entry.train], name), _checked(rows[order[:test]], name), None, "unknown"
    )


def open_density(name: str, entry: Dataset, root: Path) -> Density | None:
    """Only the exact density, or None."""
    path = source_path(root, entry.source, name)
    if path.suffix != ".py":
        return None
    return _density(_function(_module(path), entry, name))


def _from_python(name: str, entry: Dataset, path: Path) -> Source:
    module = _module(path)
    function = _function(module, entry, name)
    density = _density(function)
    draw: Callable[[int, Generator], Any] = density.sample if density is not None else function
    splits = []
    for split, count in [("train", entry.train), ("test", entry.test)]:
        rows = torch.as_tensor(draw(count, stream(DATA_SEED, "data", name, split))).float()
        splits.append(_checked(rows, name))
    return Source(splits[0], splits[1], density, getattr(module, "LICENCE", "unknown"))


def _density(function: Callable[..., Any]) -> Density | None:
    """A function without arguments gives a density; one with `(count, generator)` draws samples."""
    return None if inspect.signature(function).parameters else function()


def source_path(root: Path, source: str, name: str) -> Path:
    """The file that a dataset's entry names; it must be there, inside the project."""
    path = (root / source).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UserError(f"{FILE}: datasets.{name}.source: found {source!r}, allowed: a path inside the project")
    if not path.is_file():
        raise UserError(f"{FILE}: datasets.{name}.source: found {source!r}, but there is no such file")
    return path


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"dataset_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as an import would: dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, entry: Dataset, name: str) -> Callable[..., Any]:
    wanted = [entry.function] if entry.function else ["density", "sample"]
    for candidate in wanted:
        function: Callable[..., Any] | None = getattr(module, candidate, None)
        if callable(function):
            return function
    raise UserError(f"{entry.source}: found no function {' or '.join(wanted)} (params.yaml: datasets.{name})")


def _array(path: Path, name: str) -> np.ndarray:
    try:
        value = np.load(path, allow_pickle=False)
        rows = value[value.files[0]] if isinstance(value, np.lib.npyio.NpzFile) else value
    except (ValueError, OSError, EOFError, IndexError, BadZipFile) as error:
        raise UserError(
            f"{path.name}: not a NumPy file of plain numbers ({error}) (params.yaml: datasets.{name})"
        ) from error
    if rows.ndim < 2 or len(rows) < 10 or rows.dtype.kind not in "fiu":
        raise UserError(
            f"{path.name}: found shape {rows.shape}, type {rows.dtype}, allowed: at least 10 rows of numbers (N, d)"
        )
    return rows


def _checked(rows: Tensor, name: str) -> Tensor:
    if rows.dim() < 2 or not torch.isfinite(rows).all():
        raise UserError(
            f"datasets.{name}: found shape {tuple(rows.shape)} or values that are not finite, allowed: finite (N, d)"
        )
    if float(rows.std(0).max()) == 0:
        raise UserError(f"datasets.{name}: found constant data, allowed: data that vary")
    return rows
