"""Open a dataset's source: a NumPy file, or Python with `density()`, `sample(count, generator)` or `images(files)`.

The datasets that ship with ebmbench are such Python files; a dataset of one's own is one more entry in `params.yaml`.
A Python file that imports or reads other files of the project lies with them in a folder of its own, which is named as
the source: `mine` means `mine/dataset.py`, and DVC sees all that the folder holds. What is read from elsewhere in the
project is refused, since nobody would notice an edit of it.
A NumPy file has shape (N, …). Of type uint8 and shape (N, H, W) or (N, C, H, W) it holds images of 256 grey values; an
.npz may hold them as `x` and labels as `y`.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from ebmbench.config.params import load_params
from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import UNVERIFIED
from ebmbench.core.streams import stream
from ebmbench.data.densities.density import Density
from ebmbench.data.images.files import files_of
from ebmbench.data.images.images import DATA_SEED, Images
from ebmbench.data.images.own import checked_images, is_image, labelled, with_channels
from ebmbench.data.sources.arrays import Unreadable, checked, drawn, read_arrays
from ebmbench.errors import UserError, in_words
from ebmbench.workspace.code_hash import code_hash, imports_of, load_file, text_of
from ebmbench.workspace.files import read_json, sha256_of
from ebmbench.workspace.layout import PARAMS_YAML
from ebmbench.workspace.reads import Reads, listening

CONTRACT = ("sample", "log_prob", "score", "smoothed", "centres")  # of a density, what baselines and metrics ask of it


MAIN = "dataset.py"  # of a source that is a folder


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
    origin: dict[str, Any] = field(default_factory=dict)
    """What was read: `files`, their hashes by path, and `sha256` of these with the code of the package they use."""


@dataclass(frozen=True)
class Truth:
    """The exact density, if the source gives one, and its `origin` as in `Source`."""

    density: Density | None
    origin: dict[str, Any]


def open_source(name: str, entry: Dataset, root: Path) -> Source:
    """Read a dataset's source and split it."""
    path, reads = source_path(root, entry.source, name), Reads(root)
    if path.suffix == ".py":
        with _following(reads, entry, name):
            source = _from_python(name, entry, path, root, reads)
        return replace(source, origin=_origin(reads, path))
    reads.files[entry.source] = sha256_of(path)
    rows, labels = _array(path, name)
    _unchanged(reads, name)
    order = torch.randperm(len(rows), generator=stream(DATA_SEED, "data", name, "split"))
    test = min(entry.test, len(rows) // 5)
    parts = order[test:][: entry.train], order[:test]
    if is_image(rows):
        return replace(_own_images(name, with_channels(rows, path.name), labels, parts), origin=_origin(reads, path))
    values = torch.as_tensor(rows).float()
    train, held_out = (checked(values[part], path.name, name) for part in parts)
    return Source(train, held_out, None, "unknown", origin=_origin(reads, path))


def open_truth(name: str, entry: Dataset, root: Path, prepared: Path) -> Truth:
    """Only the exact density, or None, from the very files that `prepare` read; others are refused."""
    path, reads = source_path(root, entry.source, name), Reads(root)
    if path.suffix != ".py":
        return Truth(None, {})
    with _following(reads, entry, name):
        density = _density(_function(_module(path, reads), entry, name))
    known = read_json(prepared / "source.json").get("files", {})
    for file, found in reads.files.items():
        if known.get(file) != found:
            raise UserError(f"{file}: not what the data in {prepared.name} were prepared from; run again")
    return Truth(density, _origin(reads, path))


@contextmanager
def _following(reads: Reads, entry: Dataset, name: str) -> Iterator[None]:
    """Note what a source reads; all of it must be the source, or in its folder, and stay what it is."""
    inside = (reads.root / entry.source).resolve()
    if inside.is_dir():  # all of it: what is opened later, by a density that is asked, counts too
        for file in sorted(inside.rglob("*")):
            reads.add(file)
    with listening(reads):
        yield
    for path in reads.files:
        if not (reads.root / path).is_relative_to(inside):
            raise UserError(
                f"{PARAMS_YAML}: datasets.{name}.source: found {entry.source!r}, which reads {path}, and DVC would "
                f"never notice an edit of that; put both into one folder, the Python file as {MAIN}, and name the "
                "folder as the source"
            )
    _unchanged(reads, name)


def _unchanged(reads: Reads, name: str) -> None:
    if changed := reads.changed():
        raise UserError(f"{', '.join(changed)} changed while the dataset {name} was read; run again")


def _origin(reads: Reads, path: Path) -> dict[str, Any]:
    files = dict(sorted(reads.files.items()))
    python = [reads.root / file for file in files if file.endswith(".py")]
    code = code_hash(sorted({module for file in python for module in imports_of(file)}))
    whole = hashlib.sha256((json.dumps(files) + code).encode()).hexdigest()
    return {"files": files, "sha256": whole}


def _from_python(name: str, entry: Dataset, path: Path, root: Path, reads: Reads) -> Source:
    module = _module(path, reads)
    function = _function(module, entry, name)
    if list(inspect.signature(function).parameters) == ["files"]:
        return _from_images(name, entry, module, function, root, reads)
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
        raise UserError(
            f"{said}(): {found}, allowed: a density with {', '.join(CONTRACT)} (params.yaml: datasets.{name})"
        )
    assert density is not None
    return density.sample, f"{said}().sample(count, generator)"


def _from_images(
    name: str, entry: Dataset, module: ModuleType, function: Callable[..., Any], root: Path, reads: Reads
) -> Source:
    reads.leave_out(root / PARAMS_YAML)  # which is ours to read
    files = files_of(Path(entry.source).stem, (entry.train, entry.test), root, load_params(root).data.root)
    reads.leave_out(*files.roots, files.downloads)  # published files, each checked by its sum
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
    found = f"{PARAMS_YAML}: datasets.{name}.source: found {source!r}"
    try:
        path = (root / source).resolve()
        path = path / MAIN if path.is_dir() else path
        there = path.is_file()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"{found}, but it cannot be looked at ({in_words(error)[:200]})") from error
    if not path.is_relative_to(root.resolve()):
        raise UserError(f"{found}, allowed: a path inside the project")
    if not there:
        raise UserError(f"{found}, but there is no such file")
    return path


def _module(path: Path, reads: Reads) -> ModuleType:
    module = load_file(f"dataset_{path.parent.name if path.name == MAIN else path.stem}", path)
    reads.files[path.relative_to(reads.root).as_posix()] = hashlib.sha256(text_of(path)).hexdigest()
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
