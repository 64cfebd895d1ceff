"""The data of an experiment: both splits with their facts, as the stage `prepare` writes them to disk."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import Facts
from ebmbench.data.common.densities import Density
from ebmbench.data.common.entries import describe_entry, source_path
from ebmbench.data.common.sources import Source, draw_training_set, open_source
from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML


@dataclass(frozen=True)
class Data:
    """Train and test split `(N, *event)` in float32; labels and exact density where there are any.

    Images are in [−1, 1], binary data 0 and 1. `source` says where the data come from, in the words of `source.json`.
    """

    train: Tensor
    test: Tensor
    facts: Facts
    density: Density | None = None
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    source: dict[str, Any] = field(default_factory=dict)


def open_data(name: str, entry: Dataset, root: Path) -> Data:
    """Draw or read the dataset of an entry of `params.yaml`, without a look at `prepared/`, which belongs to DVC."""
    source = open_source(name, entry, root)
    train, test = source.values()
    labels = source.train_labels, source.test_labels
    return Data(train, test, measure_facts(name, source), source.density, *labels, describe_source(entry, source))


def make_data(name: str, train: Tensor, test: Tensor, density: Density | None = None) -> Data:
    """Data that an experiment makes itself, `(N, *event)`; `name` names their random streams."""
    facts = Facts.of(name, train.numpy(), test.numpy(), licence="CC0-1.0", hash=hash_arrays([train, test]))
    return Data(train, test, facts, density)


def draw_data_of_seed(facts: Facts, entry: Dataset, root: Path, prepared: Path, seed: int) -> tuple[Tensor, Facts]:
    """A training set of the seed's own, and its facts; `facts` are of the prepared one, whose test set stays."""
    train = draw_training_set(facts.name, entry, root, prepared, seed)
    test = np.empty((facts.test, 0))  # only its size is a fact
    digest = hash_arrays([train])
    own = Facts.of(facts.name, train.numpy(), test, licence=facts.licence, hash=digest, binary=facts.binary)
    return train, own


def source_arrays(source: Source) -> dict[str, Tensor]:
    """The arrays of a source by the name of their file in `prepared/`; without labels, there are none in theirs.

    So DVC finds the file of labels for every dataset, and an empty one leaves the hash of the data as it was.
    """
    none = torch.empty(0, dtype=torch.int64)
    labels = {"train_labels.npy": source.train_labels, "test_labels.npy": source.test_labels}
    arrays = {"train.npy": source.train, "test.npy": source.test, **labels}
    return {file: none if array is None else array for file, array in arrays.items()}


def measure_facts(name: str, source: Source) -> Facts:
    """The facts of the data that a source gave; their hash covers labels too."""
    return source.facts(name, hash_arrays(source_arrays(source).values()))


def describe_source(entry: Dataset, source: Source) -> dict[str, Any]:
    """The content of `source.json`: the entry, whether its files were checked, and what was read."""
    return {**describe_entry(entry), **({} if source.verified else {"unverified": True}), **source.origin}


def open_outliers(name: str, entry: Dataset, facts: Facts, root: Path) -> tuple[Tensor | None, dict[str, Any]]:
    """Test images of the source that an entry names as `outliers`, and the content of `outliers.json`.

    Files that are not here are a reason to have none; nothing is downloaded. Images of another form are refused.
    """
    assert entry.outliers is not None
    other, key = source_path(root, entry.outliers, name, "outliers"), f"{PARAMS_YAML}: datasets.{name}.outliers"
    own = Path(entry.outliers).stem
    try:
        # Of a file that is no Python the test rows are a fifth, of published data the official ones.
        found = open_source(own, Dataset(source=entry.outliers, train=entry.train, test=entry.test), root, fetch=False)
    except UserError as error:
        again = f"`dvc repro --force prepare@{name}` looks again"
        return None, {"name": own, "reason": f"{error}; {again}"}
    form = [found.levels, list(found.test.shape[1:])]
    if form != [facts.levels, facts.shape]:
        shown = f"found images of {found.levels} grey values, shape {form[1]}, in {other.name}"
        raise UserError(f"{key}: {shown}, allowed: like {name}, of {facts.levels}, shape {facts.shape}")
    digest = {"array": hash_arrays([found.test]), **found.origin}
    return found.test, {"name": own, **digest, **({} if found.verified else {"unverified": True})}


def hash_arrays(arrays: Iterable[Tensor]) -> str:
    """SHA-256 of the bytes of arrays, one after another."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(array.numpy().tobytes())
    return whole.hexdigest()
