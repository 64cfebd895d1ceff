"""What an experiment may use: data, training and FID, the same code that makes the benchmark's cells.

A model that is trained here is found again in `work/` by its digest, like every run of a cell.
"""

import csv
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel
from torch import Tensor

from ebmbench.config.sections import Dataset, Features, Training
from ebmbench.core.dataset import Facts, from_levels, to_levels
from ebmbench.core.method import Settings
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.data.common.densities import Density
from ebmbench.data.common.images import image_facts
from ebmbench.data.common.sources import Source, open_source
from ebmbench.features import reference
from ebmbench.features.classifier import train as train_classifier
from ebmbench.features.extractor import register_classifier
from ebmbench.features.reference import Reference
from ebmbench.metrics.common.fidelity import calculate
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import Trained, load
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import WORK
from ebmbench.workspace.store import Store, digest

CLASSIFIER = Features(epochs=60)  # as for digits in suites/defaults.yaml


@dataclass(frozen=True)
class Data:
    """Train and test split `(N, *event)` in float32, images in [−1, 1]; the exact density where there is one."""

    train: Tensor
    test: Tensor
    facts: Facts
    density: Density | None = None
    labels: Tensor | None = None


@dataclass(frozen=True)
class Run:
    """A trained model; `status` tells how training ended, `history` holds a column per number that was logged."""

    folder: Path

    @cached_property
    def trained(self) -> Trained:
        """The model, with the averaged weights that the benchmark judges."""
        return load(self.folder)

    @cached_property
    def status(self) -> dict[str, Any]:
        """`status` is ok or diverged, with its reason."""
        found: dict[str, Any] = read_json(self.folder / "status.json")
        return found

    @property
    def diverged(self) -> bool:
        """Whether training was given up."""
        return bool(self.status["status"] != "ok")

    @cached_property
    def history(self) -> dict[str, NDArray[np.float64]]:
        """The columns of `history.csv` that are numbers."""
        rows = list(csv.DictReader((self.folder / "history.csv").read_text(encoding="utf-8").splitlines()))
        names = [name for name in (rows[0] if rows else {}) if name != "label"]
        return {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}


class Bench:
    """Makes data and models, or finds them again, for the project at `root`."""

    def __init__(self, root: Path, fresh: bool = False) -> None:
        self.root = root
        self.store = Store(root / WORK, fresh)

    def data(self, module: ModuleType, train: int = 50_000, test: int = 10_000) -> Data:
        """A dataset of the benchmark: `bench.data(two_moons)`, of so many events (digits has 1297 and 500)."""
        name = module.__name__.rpartition(".")[2]
        source = open_source(name, Dataset(source=f"ebmbench/data/{name}.py", train=train, test=test), self.root)
        if source.levels is None:
            return given(name, source.train, source.test, source.density)
        return _images(name, source)

    def train(
        self, method: ModuleType, settings: Settings, data: Data, model: BaseModel, training: Training, seed: int
    ) -> Run:
        """A model trained as the benchmark trains it: `bench.train(mle, mle.Settings(…), data, mlp.Settings(), …)`."""
        job = Job(method.__name__.rpartition(".")[2], settings, {}, seed, training, model, data.facts)
        return Run(self.store.obtain(job.digest(), lambda work, result: train(job, data.train, work, result)))

    def classifier(self, data: Data) -> Reference:
        """The reference classifier of labelled images, on whose features FID looks."""
        assert data.labels is not None
        labels = hashlib.sha256(data.labels.numpy().tobytes()).hexdigest()
        inputs = {"facts": data.facts.as_dict(), "labels": labels, "settings": CLASSIFIER.model_dump()}
        key = digest({**inputs, "claims": True, "code": code_hash([train_classifier.__module__, reference.__name__])})
        return reference.load(self.store.obtain(key, lambda _, result: _classify(result, data)))

    def fidelity(self, data: Data, samples: Tensor) -> dict[str, float]:
        """`fid` and `inception_score` of images `(N, C, H, W)` against all training images."""
        assert data.facts.levels is not None
        levels, keys = data.facts.levels, torch_fidelity()
        extractor = register_classifier(self.classifier(data))
        found = calculate(to_levels(samples, levels), to_levels(data.train, levels), extractor, isc=True, fid=True)
        return {"fid": found[keys.KEY_METRIC_FID], "inception_score": found[keys.KEY_METRIC_ISC_MEAN]}


def given(name: str, train: Tensor, test: Tensor, density: Density | None = None) -> Data:
    """Data of an experiment's own, `(N, *event)`; `name` names its streams."""
    whole = hashlib.sha256(train.numpy().tobytes() + test.numpy().tobytes()).hexdigest()
    facts = Facts.of(name, train.numpy(), test.numpy(), licence="CC0-1.0", hash=whole)
    return Data(train, test, facts, density)


def _images(name: str, source: Source) -> Data:
    assert source.levels is not None
    whole = hashlib.sha256(source.train.numpy().tobytes() + source.test.numpy().tobytes()).hexdigest()
    more = {"licence": source.licence, "hash": whole, "classes": source.classes}
    facts = image_facts(name, source.train, source.test, source.levels, **more)
    train, test = (from_levels(rows, source.levels) for rows in (source.train, source.test))
    return Data(train, test, facts, None, source.train_labels)


def _classify(result: Path, data: Data) -> None:
    assert data.labels is not None
    network = train_classifier(data.train, data.labels, len(data.facts.classes), CLASSIFIER)
    with torch.no_grad():
        Reference.of(network, data.facts, data.train).save(result)
