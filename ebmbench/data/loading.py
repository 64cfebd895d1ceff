"""Open a dataset's source: a NumPy file, or Python with `density()`, `sample(count, generator)` or `images(files)`.

The datasets that ship with ebmbench are such Python files; a dataset of one's own is one more entry in `params.yaml`.
A NumPy file has shape (N, …). Of type uint8 and shape (N, H, W) or (N, C, H, W) it holds images of 256 grey values; an
.npz may hold them as `x` and labels as `y`.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from ebmbench.core.errors import UserError, in_words
from ebmbench.core.facts import UNVERIFIED
from ebmbench.core.params import FILE, load_params
from ebmbench.core.sections import Dataset
from ebmbench.core.streams import stream
from ebmbench.data.densities.density import Density
from ebmbench.data.images.files import files_of
from ebmbench.data.images.images import DATA_SEED, Images
from ebmbench.data.arrays import Unreadable, checked, drawn, read_arrays
from ebmbench.data.images.own import checked_images, is_image, labelled, with_channels

CONTRACT = ("sample", "log_prob", "score", "smoothed", "centres")  # of a density, what baselines and metrics ask of it


@dataclass(frozen=True)
class Source:
    """Train and test split `(N, *event)` in float32, and the exact density where the source gives one.

    Of images (`levels` is not None) the splits are uint8 `(N, C, H, W)`; `classes` names the labels, if there are any.
    """

    train: Tensor
    test: Tensor
    density: Density | None
    licence: str
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    levels: int | None = None
    classes: list[str] = field(default_factory=list)
    verified: bool = True


def open_source(name: str, entry: Dataset, root: Path) -> Source:
    """Read a dataset's source and split it."""
    path = source_path(root, entry.source, name)
    if path.suffix == ".py":
        return _from_python(name, entry, path, root)
    rows, labels = _array(path, name)
    order = torch.randperm(len(rows), generator=stream(DATA_SEED, "data", name, "split"))
    test = min(entry.test, len(rows) // 5)
    parts = order[test:][: entry.train], order[:test]
    if is_image(rows):
        return _own_images(name, with_channels(rows, path.name), labels, parts)
    values = torch.as_tensor(rows).float()
    train, held_out = (checked(values[part], path.name, name) for part in parts)
    return Source(train, held_out, None, "unknown")


def open_density(name: str, entry: Dataset, root: Path) -> Density | None:
    """Only the exact density, or None."""
    path = source_path(root, entry.source, name)
    if path.suffix != ".py":
        return None
    return _density(_function(_module(path), entry, name))


def _from_python(name: str, entry: Dataset, path: Path, root: Path) -> Source:
    module = _module(path)
    function = _function(module, entry, name)
    if list(inspect.signature(function).parameters) == ["files"]:
        return _from_images(name, entry, module, function, root)
    density = _density(function)
    draw, said = _drawing(function, density, entry.source, name)
    splits = []
    for split, count in [("train", entry.train), ("test", entry.test)]:
        rows = drawn(draw(count, stream(DATA_SEED, "data", name, split)), count, said, name)
        splits.append(checked(rows, said, name))
    if splits[0].shape[1:] != splits[1].shape[1:]:
        shapes = " and ".join(str(tuple(rows.shape)) for rows in splits)
        raise UserError(f"{said}: found shapes {shapes}, allowed: events of one shape (params.yaml: datasets.{name})")
    return Source(splits[0], splits[1], density, getattr(module, "LICENCE", "unknown"))


def _drawing(
    function: Callable[..., Any], density: Density | None, source: str, name: str
) -> tuple[Callable[[int, Generator], Any], str]:
    """What draws events, and how it is called in a line."""
    said = f"{source}: {getattr(function, '__name__', type(function).__name__)}"
    called = inspect.signature(function)
    if called.parameters:
        try:
            called.bind(1, None)
        except TypeError as error:
            allowed = "allowed: (count, generator), (files), or none for a density"
            raise UserError(f"{said}: found {called}, {allowed} (params.yaml: datasets.{name})") from error
        return function, f"{said}(count, generator)"
    if lacking := [part for part in CONTRACT if not hasattr(density, part)]:
        found = f"found {type(density).__name__} without {', '.join(lacking)}"
        raise UserError(f"{said}(): {found}, allowed: a density with {', '.join(CONTRACT)} (params.yaml: datasets.{name})")
    assert density is not None
    return density.sample, f"{said}().sample(count, generator)"


def _from_images(name: str, entry: Dataset, module: ModuleType, function: Callable[..., Any], root: Path) -> Source:
    files = files_of(Path(entry.source).stem, (entry.train, entry.test), root, load_params(root).data.root)
    verified = files.verify or not getattr(module, "FILES", True)  # a dataset without files has none to doubt
    licence = getattr(module, "LICENCE", "unknown") + ("" if verified else UNVERIFIED)
    return _source(name, function(files), licence, getattr(module, "CLASSES", []), verified)


def _own_images(name: str, rows: Tensor, labels: np.ndarray | None, parts: tuple[Tensor, Tensor]) -> Source:
    y, classes = labelled(labels, len(rows), name)
    train, test = parts
    known = (None, None) if y is None else (y[train], y[test])
    return _source(name, Images(rows[train], rows[test], *known), "unknown", classes, True)


def _source(name: str, images: Images, licence: str, classes: list[str], verified: bool) -> Source:
    checked_images(images, name, classes)
    labels = images.train_labels, images.test_labels
    return Source(images.train, images.test, None, licence, *labels, images.levels, classes, verified)


def _density(function: Callable[..., Any]) -> Density | None:
    """A function without arguments gives a density; `(count, generator)` draws samples, `(files)` reads images."""
    return None if inspect.signature(function).parameters else function()


def source_path(root: Path, source: str, name: str) -> Path:
    """The file that a dataset's entry names; it must be there, inside the project."""
    found = f"{FILE}: datasets.{name}.source: found {source!r}"
    try:
        path = (root / source).resolve()
        there = path.is_file()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"{found}, but it cannot be looked at ({in_words(error)[:200]})") from error
    if not path.is_relative_to(root.resolve()):
        raise UserError(f"{found}, allowed: a path inside the project")
    if not there:
        raise UserError(f"{found}, but there is no such file")
    return path


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"dataset_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as an import would: dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, entry: Dataset, name: str) -> Callable[..., Any]:
    wanted = [entry.function] if entry.function else ["density", "sample", "images"]
    for candidate in wanted:
        function: Callable[..., Any] | None = getattr(module, candidate, None)
        if callable(function):
            return function
    raise UserError(f"{entry.source}: found no function {' or '.join(wanted)} (params.yaml: datasets.{name})")


def _array(path: Path, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The data, and `y` of an .npz that has one."""
    try:
        rows, labels = read_arrays(path)
    except Unreadable as error:
        raise UserError(
            f"{path.name}: not a NumPy file of plain numbers ({error}) (params.yaml: datasets.{name})"
        ) from error
    if rows.ndim < 2 or len(rows) < 10 or rows.size == 0 or rows.dtype.kind not in "fiu":
        raise UserError(
            f"{path.name}: found shape {rows.shape}, type {rows.dtype}, allowed: at least 10 rows of numbers (N, d)"
        )
    return rows, labels
