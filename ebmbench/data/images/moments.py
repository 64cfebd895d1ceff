"""Facts of many images without a float copy of them: sums of integers are exact and need no memory.

With v = 2 k / (levels − 1) − 1 for the grey value k, mean(v) and var(v) follow from Σ k and Σ k².
"""

import math
from typing import Any

import numpy as np
from torch import Tensor

from ebmbench.core.dataset import LARGEST, Facts, from_levels

BLOCK = 1000


def image_facts(name: str, train: Tensor, test: Tensor, levels: int, **more: Any) -> Facts:
    """`Facts.of` the images as values in [−1, 1]."""
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
