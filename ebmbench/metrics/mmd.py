"""Squared maximum mean discrepancy between samples and test data, unbiased, with its standard error over blocks.

MMD² = E k(x, x′) + E k(y, y′) − 2 E k(x, y) with k the mean of Gaussian kernels of width 0.1, 0.3 and 1 data
deviations. It is computed on disjoint blocks of `metrics.block` events, or of a quarter of a set that is too small
for two of them; their mean is the value and their spread gives the error. Unbiased, so it can be below zero.
"""

import math

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Gretton et al., A Kernel Two-Sample Test, JMLR 13, 2012"
YEAR = 2012
LINK = "https://jmlr.org/papers/v13/gretton12a.html"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples",)
WIDTHS = (0.1, 0.3, 1.0)
FEW = 4  # blocks of a small set: two would leave the error to a single difference


def compute(e: Evaluation) -> Value:
    """Over as many whole blocks as samples and test set have in common."""
    x, y, scale = e.samples.double().flatten(1), e.test.double().flatten(1), e.facts.scale
    common = min(len(x), len(y))
    block = e.settings.block if common >= 2 * e.settings.block else common // FEW
    if block < 2:
        raise Unavailable(f"needs {FEW} blocks of 2, has {len(x)} samples and {len(y)} test events")
    count = common // block
    a, b = (z[: count * block].split(block) for z in (x, y))
    # As plain numbers: a tensor kept of each block would lie between the large ones, whose memory is then not reused.
    of_test = e.share(
        __name__,
        lambda: {"within": torch.tensor([within(y, scale).item() for y in b], dtype=x.dtype)},
        block=block,
        count=count,
    )
    pairs = zip(a, b, of_test["within"], strict=True)
    values = torch.tensor([mmd_squared(*pair, scale).item() for pair in pairs], dtype=x.dtype)
    error = float(values.std()) / math.sqrt(count)
    return Value(
        float(values.mean()), error, count * block, f"{count} blocks of {block}, kernel widths {WIDTHS} deviations"
    )


def mmd_squared(x: Tensor, y: Tensor, within_y: Tensor, scale: float) -> Tensor:
    """The unbiased estimate for two samples of equal size; `within_y` is `within(y, scale)`."""
    return within(x, scale) + within_y - 2 * kernel(x, y, scale).mean()


def within(x: Tensor, scale: float) -> Tensor:
    """The mean kernel of pairs in a sample of size n; pairs of an event with itself are left out."""
    n = len(x)
    return (kernel(x, x, scale).sum() - n) / (n * (n - 1))


def kernel(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Mean of Gaussian kernels, `(n, m)`."""
    squares = torch.cdist(x, y).square()
    return torch.stack([(-squares / (2 * (w * scale) ** 2)).exp() for w in WIDTHS]).mean(0)
