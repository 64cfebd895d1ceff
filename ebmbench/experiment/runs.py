"""Training one run, or finding it in `work/`, and reading what it left."""

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import Trained, load
from ebmbench.workspace.files import read_json
from ebmbench.workspace.store import Store


def train_run(job: Job, data: Tensor, store: Store, labels: Tensor | None = None) -> "Run":
    """Train a job on the data `(N, *event)` and their labels, if there are any, or go on with it, or find it finished.

    The labels need not be named: the hash of the data covers them.
    """
    return Run(store.obtain(job.digest(), lambda workshop, result: train(job, data, workshop, result, labels=labels)))


@dataclass(frozen=True)
class Run:
    """The folder of a run whose training has ended."""

    folder: Path

    @cached_property
    def trained(self) -> Trained:
        """The model, with the averaged weights that the benchmark judges."""
        return load(self.folder)

    @cached_property
    def status(self) -> dict[str, Any]:
        """How training ended: `status` is ok, diverged or skipped, with its reason."""
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
