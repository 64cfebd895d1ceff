"""Images as a dataset's `images(files)` returns them: how they are split, checked and measured."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import LARGEST, Facts, from_levels
from ebmbench.core.streams import stream
from ebmbench.errors import UserError

DATA_SEED = 0  # the data are the same for every seed of a benchmark
BLOCK = 1000


@dataclass(frozen=True)
class Images:
    """Integers 0 … levels − 1 as uint8 `(N, C, H, W)` of both splits, and labels `(N,)` in int64 if there are any."""

    train: Tensor
    test: Tensor
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    levels: int = 256

    def binarised(self, threshold: int) -> "Images":
        """In black and white, 0 and 1: on from `threshold` on. Labels are left out."""
        train, test = ((split >= threshold).to(torch.uint8) for split in (self.train, self.test))
        return Images(train, test, levels=2)


def draw_subset(count: int, most: int, dataset: str, split: str) -> Tensor:
    """Indices of at most `most` of `count` rows: all, or a fixed random subset in ascending order.

    Subsets are nested: the one of 1000 is part of the one of 2000.
    """
    if most >= count:
        return torch.arange(count)
    order = torch.randperm(count, generator=stream(DATA_SEED, "data", dataset, split, "subset"))
    return order[:most].sort().values


def draw_stratified(labels: Tensor, test: int, generator: Generator) -> Tensor:
    """Indices of a test set of `test` rows in which every class has its share, in ascending order.

    Shares are rounded down; the rows that are then missing go to the classes with the largest remainders.
    """
    counts = labels.bincount()
    exact = counts * test / len(labels)
    shares = exact.floor().long()
    shares[(exact - shares).argsort(descending=True, stable=True)[: test - int(shares.sum())]] += 1
    chosen = []
    for label, share in enumerate(shares.tolist()):
        rows = (labels == label).nonzero().flatten()
        chosen.append(rows[torch.randperm(len(rows), generator=generator)[:share]])
    return torch.cat(chosen).sort().values


def check_images(images: Images, name: str, classes: list[str]) -> None:
    """Refuse anything but two splits of images, with labels that the classes name."""
    if not isinstance(images, Images):
        raise UserError(f"datasets.{name}: images(files): found {type(images).__name__}, allowed: {Images.__name__}")
    _check_split("train", images.train, images.train_labels, images.levels, name, classes)
    _check_split("test", images.test, images.test_labels, images.levels, name, classes)
    if images.train.shape[1:] != images.test.shape[1:]:
        found = f"found images {tuple(images.train.shape)} and {tuple(images.test.shape)}"
        raise UserError(f"datasets.{name}: {found}, allowed: images of one shape")


def _check_split(split: str, x: Tensor, y: Tensor | None, levels: int, name: str, classes: list[str]) -> None:
    typed = isinstance(x, Tensor) and x.dtype == torch.uint8 and x.dim() == 4 and len(x) >= 2 and x.numel() > 0
    if not typed or int(x.max()) >= levels:
        kind = f"{x.dtype}, shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        allowed = f"allowed: at least 2 of uint8 (N, C, H, W) below {levels}"
        raise UserError(f"datasets.{name}: found {split} images of type {kind}, {allowed}")
    if bool((x == x[0]).all()):
        raise UserError(f"datasets.{name}: found constant data, allowed: data that vary")
    fits = y is None or (y.shape == (len(x),) and int(y.min()) >= 0 and int(y.max()) < len(classes))
    if (y is not None) != bool(classes) or not fits:
        raise UserError(f"datasets.{name}: found {split} labels that do not fit the images or CLASSES")


def image_facts(name: str, train: Tensor, test: Tensor, levels: int, **more: Any) -> Facts:
    """`Facts.of` images as values in [−1, 1], without a float copy of large ones.

    With v = 2 k / (levels − 1) − 1 for the grey value k, mean(v) and var(v) follow from Σ k and Σ k², which are exact.
    """
    if train[0].numel() <= LARGEST:
        values = from_levels(train, levels).numpy(), from_levels(test, levels).numpy()
        return Facts.of(name, *values, levels=levels, **more)
    mean, variance = _moments(train.numpy().reshape(len(train), -1))
    step = 2 / (levels - 1)
    scale = step * math.sqrt(float(variance.mean()))
    shape = list(train.shape[1:])
    return Facts(name, shape, len(train), len(test), (step * mean - 1).tolist(), [], scale, levels=levels, **more)


def _moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column of integers."""
    first = np.zeros(rows.shape[1], dtype=np.int64)
    second = np.zeros_like(first)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].astype(np.int64)
        first += block.sum(0)
        second += (block * block).sum(0)
    mean = first / len(rows)
    return mean, second / len(rows) - mean**2
