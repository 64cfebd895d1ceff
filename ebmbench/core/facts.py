"""What training may know of a dataset: its facts, and never its density."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.files import read_json


@dataclass(frozen=True)
class Facts:
    """Moments and size of the training set. `scale` is the root mean square of the per-coordinate deviations."""

    name: str
    shape: list[int]
    train: int
    test: int
    mean: list[float]
    covariance: list[list[float]]
    scale: float
    licence: str
    hash: str

    @classmethod
    def of(cls, name: str, train: np.ndarray, test: np.ndarray, **more: str) -> "Facts":
        """Measure a training set of shape `(N, *event)`; mean and covariance are of the flattened events."""
        flat = train.reshape(len(train), -1).astype(np.float64)
        covariance = np.atleast_2d(np.cov(flat, rowvar=False))
        # A millionth of the mean variance on the diagonal: coordinates that are constant or collinear stay usable.
        covariance += 1e-6 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        return cls(
            name=name,
            shape=list(train.shape[1:]),
            train=len(train),
            test=len(test),
            mean=flat.mean(0).tolist(),
            covariance=covariance.tolist(),
            scale=math.sqrt(float(np.trace(covariance)) / len(covariance)),
            **more,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a JSON file or a checkpoint's header."""
        return asdict(self)

    def starts(self, count: int, generator: torch.Generator, spread: float = 1.5) -> Tensor:
        """Noise to start chains from: N(mean, (spread · scale)² I), shape `(count, *shape)`."""
        noise = torch.randn(count, *self.shape, generator=generator)
        return torch.tensor(self.mean).reshape(self.shape) + spread * self.scale * noise


def load_facts(folder: Path) -> Facts:
    """The facts of a prepared dataset."""
    return Facts(**read_json(folder / "facts.json"))
