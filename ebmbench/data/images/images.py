"""What an image dataset's `images(files)` gives back."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from ebmbench.core.streams import stream

DATA_SEED = 0  # the data are the same for every seed of a benchmark


@dataclass(frozen=True)
class Images:
    """Integers 0 … levels − 1 as uint8 `(N, C, H, W)` of both splits, and labels `(N,)` in int64 if there are any."""

    train: Tensor
    test: Tensor
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    levels: int = 256


def subset(count: int, most: int, dataset: str, split: str) -> Tensor:
    """Which of `count` rows are kept if at most `most` are wanted: all, or a fixed random subset in the old order.

    Subsets are nested: the one of 1000 is part of the one of 2000.
    """
    if most >= count:
        return torch.arange(count)
    order = torch.randperm(count, generator=stream(DATA_SEED, "data", dataset, split, "subset"))
    return order[:most].sort().values


def stratified(labels: Tensor, test: int, generator: Generator) -> Tensor:
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
