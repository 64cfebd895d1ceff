"""A prepared dataset: its splits and its facts, which are all that training may know of it, never its density.

Images are stored as integers 0 … levels − 1 and are values in [−1, 1] everywhere else; `read_split` converts.
Binary data are 0 and 1 everywhere, as floats. They are not the spins −1 and +1 of physics: with s = 2v − 1 a coupling
J s_i s_j is 4J v_i v_j − 2J (v_i + v_j) + J.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.errors import UserError, in_words
from ebmbench.workspace.files import read_json

LARGEST = 64  # coordinates of which the covariance is written
UNVERIFIED = " (unverified files)"  # the end of the licence of data whose files were not checked


@dataclass(frozen=True)
class Facts:
    """Moments and size of the training set. `scale` is the root mean square of the per-coordinate deviations.

    `levels` is the number of grey values of an image and None for other data; `classes` names the labels, if there
    are any. The covariance of more than `LARGEST` coordinates is left empty: it would not fit a text file. `binary`
    says that all values are 0 or 1.
    """

    name: str
    shape: list[int]
    train: int
    test: int
    mean: list[float]
    covariance: list[list[float]]
    scale: float
    licence: str
    hash: str
    levels: int | None = None
    classes: list[str] = field(default_factory=list)
    binary: bool = False

    @classmethod
    def of(cls, name: str, train: np.ndarray, test: np.ndarray, **more: Any) -> "Facts":
        """Measure a training set of shape `(N, *event)`; mean and covariance are of the flattened events."""
        flat = train.reshape(len(train), -1).astype(np.float64)
        head = name, list(train.shape[1:]), len(train), len(test), flat.mean(0).tolist()
        if flat.shape[1] > LARGEST:
            return cls(*head, [], math.sqrt(float(flat.var(0).mean())), **more)
        covariance = np.atleast_2d(np.cov(flat, rowvar=False))
        # A millionth of the mean variance on the diagonal: coordinates that are constant or collinear stay usable.
        covariance += 1e-6 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        scale = math.sqrt(float(np.trace(covariance)) / len(covariance))
        return cls(*head, covariance.tolist(), scale, **more)

    @property
    def is_image(self) -> bool:
        """Whether events are images `(C, H, W)` in [−1, 1]."""
        return self.levels is not None

    @property
    def image_levels(self) -> int:
        """The number of grey values of images; other data have none."""
        if self.levels is None:
            raise ValueError(f"{self.name}: the data are no images")
        return self.levels

    @property
    def unit(self) -> float:
        """The unit of lengths in settings: the data's deviation, and 1 for images, which share one box."""
        return 1.0 if self.is_image else self.scale

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a JSON file or a checkpoint's header."""
        return asdict(self)

    @property
    def verified(self) -> bool:
        """Whether the checksums of the data's files were right, or there are no files to check."""
        return not self.licence.endswith(UNVERIFIED)

    def starts(self, count: int, generator: torch.Generator, spread: float = 1.5) -> Tensor:
        """Noise to start chains from, `(count, *shape)`: N(mean, (spread · scale)² I), or uniform on images' box.

        Binary chains start at fair coins.
        """
        if self.binary:
            return (torch.rand(count, *self.shape, generator=generator) < 0.5).float()
        if self.is_image:
            return 2 * torch.rand(count, *self.shape, generator=generator) - 1
        noise = torch.randn(count, *self.shape, generator=generator)
        return torch.tensor(self.mean).reshape(self.shape) + spread * self.scale * noise


def load_facts(folder: Path) -> Facts:
    """The facts of a prepared dataset."""
    with _explain_damage(folder):
        return Facts(**read_json(folder / "facts.json"))


def read_split(folder: Path, split: str) -> Tensor:
    """`train`, `test` or `outliers` of a prepared dataset, `(N, *event)` in float32; images are in [−1, 1]."""
    with _explain_damage(folder):
        rows = torch.from_numpy(np.load(folder / f"{split}.npy", allow_pickle=False))
    facts = load_facts(folder)
    return from_levels(rows, facts.image_levels) if facts.is_image else rows.float()


def read_outliers(folder: Path) -> tuple[Tensor | None, str]:
    """Images of another dataset and its name; without any, the reason. `prepare` has read them."""
    if not (folder / "outliers.json").is_file():
        return None, f"no other data are named (params.yaml: datasets.{folder.name}.outliers)"
    with _explain_damage(folder):
        found = read_json(folder / "outliers.json")
        return (None, found["reason"]) if "reason" in found else (read_split(folder, "outliers"), found["name"])


def from_levels(rows: Tensor, levels: int) -> Tensor:
    """Integers 0 … levels − 1 as float32 in [−1, 1]."""
    return rows.float() * (2 / (levels - 1)) - 1


def to_levels(x: Tensor, levels: int) -> Tensor:
    """The nearest of the integers 0 … levels − 1 (uint8), of values that may lie outside [−1, 1]."""
    return ((x.clamp(-1, 1) + 1) * ((levels - 1) / 2)).round().to(torch.uint8)


def read_labels(folder: Path, split: str) -> Tensor:
    """The labels of a split, `(N,)` in int64; empty for data whose facts name no classes."""
    with _explain_damage(folder):
        return torch.from_numpy(np.load(folder / f"{split}_labels.npy", allow_pickle=False)).long()


@contextmanager
def _explain_damage(folder: Path) -> Iterator[None]:
    """Name the command that makes a missing or damaged folder again."""
    try:
        yield
    except (UserError, OSError, EOFError, ValueError, TypeError, AttributeError) as error:
        words = str(error) if isinstance(error, UserError) else in_words(error)[:200]
        raise UserError(f"{folder}: not prepared ({words}); `ebmbench prepare {folder.name}` does it") from error
