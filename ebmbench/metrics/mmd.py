"""Squared maximum mean discrepancy between samples and test data, unbiased, with its standard error over blocks.

MMD² = E k(x, x′) + E k(y, y′) − 2 E k(x, y) with k the mean of Gaussian kernels of width 0.1, 0.3 and 1 data
deviations. It is computed on disjoint blocks; their mean is the value and their spread gives the error.
Unbiased, so it can be below zero.
"""

import math

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Gretton et al., A Kernel Two-Sample Test, JMLR 13, 2012"
YEAR = 2012
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples",)
WIDTHS = (0.1, 0.3, 1.0)


def compute(e: Evaluation) -> Value:
    """Over as many whole blocks as samples and test set have in common."""
    x, y, block = e.samples.double().flatten(1), e.test.double().flatten(1), e.settings.block
    count = min(len(x), len(y)) // block
    if count < 2:
        raise Unavailable(f"needs 2 blocks of {block}, has {len(x)} samples and {len(y)} test events")
    pairs = zip(x[: count * block].split(block), y[: count * block].split(block), strict=True)
    # As plain numbers: a tensor kept of each block would lie between the large ones, whose memory is then not reused.
    values = torch.tensor([mmd_squared(a, b, e.facts.scale).item() for a, b in pairs], dtype=x.dtype)
    error = float(values.std()) / math.sqrt(count)
    return Value(
        float(values.mean()), error, count * block, f"{count} blocks of {block}, kernel widths {WIDTHS} deviations"
    )


def mmd_squared(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """The unbiased estimate for two samples of equal size n: pairs of an event with itself are left out."""
    n = len(x)
    within = [(kernel(a, a, scale).sum() - n) / (n * (n - 1)) for a in (x, y)]
    return within[0] + within[1] - 2 * kernel(x, y, scale).mean()


def kernel(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Mean of Gaussian kernels, `(n, m)`."""
    squares = torch.cdist(x, y).square()
    return torch.stack([(-squares / (2 * (w * scale) ** 2)).exp() for w in WIDTHS]).mean(0)
