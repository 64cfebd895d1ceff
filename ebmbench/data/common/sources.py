"""Open a dataset's source: a NumPy file, or Python with `density()`, `sample(count, generator)` or `images(files)`.

The datasets that ship with ebmbench are such Python files; a dataset of the user's own is one more entry in
`params.yaml`. A Python file that imports or reads other files of the project lies with them in a folder of its own, and
the folder is named as the source: `mine` means `mine/dataset.py`, and DVC sees all files of the folder. A source that
reads anything else of the project is refused, since DVC would not notice an edit of it.
A NumPy file has shape (N, …). Of type uint8 and shape (N, H, W) or (N, C, H, W) it holds images of 256 grey values; an
.npz may hold them as `x` and labels as `y`. A Python file with `BINARY = True` gives binary data, events of 0 and 1.
"""

import hashlib
import importlib.util
import inspect
import json
import sys
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
from ebmbench.core.dataset import UNVERIFIED, Facts, from_levels
from ebmbench.core.streams import stream
from ebmbench.data.common.arrays import add_channels, are_images, check_rows, encode_labels, read_arrays, to_rows
from ebmbench.data.common.densities import Density, Table
from ebmbench.data.common.download import refuse
from ebmbench.data.common.entries import MAIN, describe_entry, is_binary, source_path
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import DATA_SEED, Images, check_images, image_facts
from ebmbench.errors import UserError
from ebmbench.workspace.code_hash import PACKAGE, Loader, code_hash, imports_of, text_of
from ebmbench.workspace.files import read_json, sha256_of
from ebmbench.workspace.layout import PARAMS_YAML
from ebmbench.workspace.reads import Reads, listening

CONTRACT = ("sample", "log_prob", "score", "smoothed", "centres")  # what baselines and metrics ask of a density
OF_BINARY = CONTRACT[:2]  # and of a distribution of binary units
Sampler = tuple[Callable[[int, Generator], Any], str]


@dataclass(frozen=True)
class Source:
    """Train and test split `(N, *event)` in float32, and the exact density where the source gives one.

    Of images the splits are uint8 `(N, C, H, W)` below `levels`; `classes` names the labels, if there are any. Binary
    data have no levels: they are 0 and 1, in uint8 if they come from images.
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
    binary: bool = False
    origin: dict[str, Any] = field(default_factory=dict)
    """What was read: `files`, their hashes by path, and `sha256` of these with the code of the package they use."""

    def values(self) -> tuple[Tensor, Tensor]:
        """Both splits as training sees them: float32, images in [−1, 1]."""
        if self.levels is None:
            return self.train.float(), self.test.float()
        return from_levels(self.train, self.levels), from_levels(self.test, self.levels)

    def facts(self, name: str, digest: str) -> Facts:
        """The facts of the dataset `name`, whose content has the hash `digest`."""
        if self.levels is None:
            splits = self.train.numpy(), self.test.numpy()
            return Facts.of(name, *splits, licence=self.licence, hash=digest, binary=self.binary)
        more = {"licence": self.licence, "hash": digest, "classes": self.classes}
        return image_facts(name, self.train, self.test, self.levels, **more)


@dataclass(frozen=True)
class Truth:
    """The exact density, if the source gives one, and its `origin` as in `Source`."""

    density: Density | None
    origin: dict[str, Any]


def open_source(name: str, entry: Dataset, root: Path, fetch: bool = True) -> Source:
    """Read a dataset's source and split it; published files that are not here are downloaded, unless not `fetch`."""
    path, reads = source_path(root, entry.source, name), Reads(root)
    if path.suffix == ".py":
        with _watch(reads, entry, name):
            source = _open_python(name, entry, path, reads, fetch)
    else:
        reads.files[entry.source] = sha256_of(path)
        rows, labels = read_arrays(path, name)
        _check_unchanged(reads, name)
        source = _split_arrays(name, entry, path, rows, labels)
    return replace(source, origin=_origin(reads))


def open_truth(name: str, entry: Dataset, root: Path, prepared: Path) -> Truth:
    """Open only the exact density, if there is one, from the very files that `prepare` read; others are refused."""
    if source_path(root, entry.source, name).suffix != ".py":
        return Truth(None, {})
    with _open_again(name, entry, root, prepared) as (function, reads):
        density = _density(function)
    return Truth(density, {**_origin(reads), "entry": describe_entry(entry)})


def draw_training_set(name: str, entry: Dataset, root: Path, prepared: Path, seed: int) -> Tensor:
    """Another training set `(entry.train, *event)` of the dataset, which depends on the seed, from the same files."""
    require_sampler(name, entry, root)
    with _open_again(name, entry, root, prepared) as (function, _):
        sampler = _sampler(function, _density(function), entry.source, name)
        return _draw(sampler, entry.train, stream(seed, "data", name, "per_seed"), name)


def require_sampler(name: str, entry: Dataset, root: Path) -> None:
    """Refuse `training.data_per_seed` for data that come from files: there is no density to draw others from."""
    path = source_path(root, entry.source, name)
    if path.suffix != ".py" or _reads_files(_function(_module(path, Reads(root)), entry, name)):
        found = f"found true, but {entry.source} has neither density() nor sample() (on {name}), allowed: false"
        raise UserError(f"{PARAMS_YAML}: training.data_per_seed: {found}")


@contextmanager
def _open_again(name: str, entry: Dataset, root: Path, prepared: Path) -> Iterator[tuple[Callable[..., Any], Reads]]:
    """The function of a Python source, to be called inside; refuses files that are not those that `prepare` read."""
    path, reads = source_path(root, entry.source, name), Reads(root)
    with _watch(reads, entry, name):
        yield _function(_module(path, reads), entry, name), reads
    written = read_json(prepared / "source.json")
    if written != {**written, **describe_entry(entry)}:
        raise UserError(f"{PARAMS_YAML}: datasets.{name}: not what the data were prepared from; run again")
    for file, found in reads.files.items():
        if written.get("files", {}).get(file) != found:
            raise UserError(f"{file}: not what the data in {prepared.name} were prepared from; run again")


@contextmanager
def _watch(reads: Reads, entry: Dataset, name: str) -> Iterator[None]:
    """Note the files that a source reads; each must be the source or in its folder, and must not change."""
    inside = (reads.root / entry.source).resolve()
    if inside.is_dir():  # all of it: a density may open a file only when it is called
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
    _check_unchanged(reads, name)


def _check_unchanged(reads: Reads, name: str) -> None:
    if changed := reads.changed():
        raise UserError(f"{', '.join(changed)} changed while the dataset {name} was read; run again")


def _origin(reads: Reads) -> dict[str, Any]:
    files = dict(sorted(reads.files.items()))
    python = [reads.root / file for file in files if file.endswith(".py")]
    code = code_hash(sorted({module for file in python for module in imports_of(file)}))
    whole = hashlib.sha256((json.dumps(files) + code).encode()).hexdigest()
    return {"files": files, "sha256": whole}


def _split_arrays(name: str, entry: Dataset, path: Path, rows: np.ndarray, labels: np.ndarray | None) -> Source:
    """Hold out a fifth of a NumPy file's rows for the test, at most `entry.test` of them."""
    order = torch.randperm(len(rows), generator=stream(DATA_SEED, "data", name, "split"))
    count = min(entry.test, len(rows) // 5)
    train, test = order[count:][: entry.train], order[:count]
    if not are_images(rows):
        values = torch.as_tensor(rows).float()
        rows_train, rows_test = (check_rows(values[part], path.name, name) for part in (train, test))
        return Source(rows_train, rows_test, None, "unknown")
    x = add_channels(rows, path.name)
    y, classes = encode_labels(labels, len(rows), name)
    known = (None, None) if y is None else (y[train], y[test])
    return _image_source(name, Images(x[train], x[test], *known), "unknown", classes)


def _open_python(name: str, entry: Dataset, path: Path, reads: Reads, fetch: bool) -> Source:
    module = _module(path, reads)
    function = _function(module, entry, name)
    if _reads_files(function):
        return _open_images(name, entry, module, function, reads, fetch)
    density = _density(function)
    sampler = _sampler(function, density, entry.source, name)
    sizes = {"train": entry.train, "test": entry.test}
    whole = getattr(density, "population", None)
    train, test = (
        whole
        if whole is not None and len(whole) == n
        else _draw(sampler, n, stream(DATA_SEED, "data", name, split), name)
        for split, n in sizes.items()
    )
    if train.shape[1:] != test.shape[1:]:
        found = f"{sampler[1]}: found shapes {tuple(train.shape)} and {tuple(test.shape)}"
        raise UserError(f"{found}, allowed: events of one shape (params.yaml: datasets.{name})")
    binary = is_binary(module, name, train, test)
    return Source(train, test, density, getattr(module, "LICENCE", "unknown"), binary=binary)


def _draw(sampler: Sampler, count: int, generator: Generator, name: str) -> Tensor:
    draw, call = sampler
    return check_rows(to_rows(draw(count, generator), count, call, name), call, name)


def _sampler(function: Callable[..., Any], density: Density | None, source: str, name: str) -> Sampler:
    """The function that draws events, and how error messages write its call."""
    call = f"{source}: {getattr(function, '__name__', type(function).__name__)}"
    where = f"(params.yaml: datasets.{name})"
    signature = inspect.signature(function)
    if signature.parameters:
        try:
            signature.bind(1, None)
        except TypeError as error:
            allowed = "allowed: (count, generator), (files), or none for a density"
            raise UserError(f"{call}: found {signature}, {allowed} {where}") from error
        return function, f"{call}(count, generator)"
    contract = OF_BINARY if isinstance(density, Table) else CONTRACT
    if lacking := [part for part in contract if not hasattr(density, part)]:
        found = f"found {type(density).__name__} without {', '.join(lacking)}"
        raise UserError(f"{call}(): {found}, allowed: a density with {', '.join(contract)} {where}")
    assert density is not None
    return density.sample, f"{call}().sample(count, generator)"


def _open_images(
    name: str, entry: Dataset, module: ModuleType, function: Callable[[Files], Images], reads: Reads, fetch: bool
) -> Source:
    reads.leave_out(reads.root / PARAMS_YAML)  # read by us, not by the source
    data_root = load_params(reads.root).data.root
    files = Files.from_settings(Path(entry.source).stem, (entry.train, entry.test), reads.root, data_root)
    files = files if fetch else replace(files, download=refuse)
    reads.leave_out(*files.roots, files.downloads)  # published files, each checked by its sum
    verified = files.verify or not getattr(module, "FILES", True)  # a dataset without files has none to doubt
    licence = getattr(module, "LICENCE", "unknown") + ("" if verified else UNVERIFIED)
    images = function(files)
    if getattr(module, "BINARY", False):
        check_images(images, name, [])
        is_binary(module, name, images.train, images.test)
        return Source(images.train, images.test, None, licence, verified=verified, binary=True)
    return _image_source(name, images, licence, getattr(module, "CLASSES", []), verified)


def _image_source(name: str, images: Images, licence: str, classes: list[str], verified: bool = True) -> Source:
    check_images(images, name, classes)
    labels = images.train_labels, images.test_labels
    return Source(images.train, images.test, None, licence, *labels, images.levels, classes, verified)


def _module(path: Path, reads: Reads) -> ModuleType:
    module = _import_file(f"dataset_{path.parent.name if path.name == MAIN else path.stem}", path)
    reads.files[path.relative_to(reads.root).as_posix()] = hashlib.sha256(text_of(path)).hexdigest()
    return module


def _import_file(name: str, file: Path) -> ModuleType:
    """Import a Python file that is in no package, with the folder it lies in to import from."""
    spec = importlib.util.spec_from_file_location(name, file, loader=Loader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as an import would: dataclasses look their module up there
    if str(file.parent) not in sys.path and not file.is_relative_to(PACKAGE):
        sys.path.append(str(file.parent))
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, entry: Dataset, name: str) -> Callable[..., Any]:
    wanted = [entry.function] if entry.function else ["density", "sample", "images"]
    for candidate in wanted:
        function: Callable[..., Any] | None = getattr(module, candidate, None)
        if callable(function):
            return function
    raise UserError(f"{entry.source}: found no function {' or '.join(wanted)} (params.yaml: datasets.{name})")


def _reads_files(function: Callable[..., Any]) -> bool:
    return list(inspect.signature(function).parameters) == ["files"]


def _density(function: Callable[..., Any]) -> Density | None:
    """A function without arguments gives a density; `(count, generator)` draws samples, `(files)` reads images."""
    return None if inspect.signature(function).parameters else function()
