"""Squared kernelised Stein discrepancy of samples from the model's own density, by its score alone: no normaliser.

With s = −∇E, k(x, y) = exp(−‖x − y‖²/2h²) and r = x − y,

    u(x, y) = k(x, y) · [s(x)ᵀs(y) + (s(x) − s(y))ᵀr/h² + D/h² − ‖r‖²/h⁴],   KSD² = E u(x, x′) over pairs of samples.

It is 0 if the samples are of exp(−E), so it judges the *sampler* of a model; data play no part but that h is the median
distance between test events, the same kernel for every model. Where modes lie far apart it does not see their weights.
It is computed on disjoint blocks as `mmd` is, without pairs of an event with itself: unbiased, so it can be below
zero. In units of the data's deviation (KSD² × scale²), so that nothing depends on the unit.
"""

import math

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = (
    "Liu, Lee & Jordan, A Kernelized Stein Discrepancy for Goodness-of-fit Tests, ICML 2016; "
    "Chwialkowski, Strathmann & Gretton, A Kernel Test of Goodness of Fit, ICML 2016"
)
YEAR = 2016
LINK = ("https://proceedings.mlr.press/v48/liub16.html", "https://proceedings.mlr.press/v48/chwialkowski16.html")
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples", "energy")
FEW = 4  # blocks of a small set: two would leave the error to a single difference


def compute(e: Evaluation) -> Value:
    """Over as many whole blocks as there are samples for."""
    if e.facts.binary:
        raise Unavailable("binary data have no score, which the discrepancy is made of")
    x, n = e.samples.double(), len(e.samples)
    block = e.settings.block if n >= 2 * e.settings.block else n // FEW
    if block < 2:
        raise Unavailable(f"needs {FEW} blocks of 2, has {n} samples")
    width = median_distance(e.test[: e.settings.block].double().flatten(1))
    blocks = zip(x.flatten(1).split(block), e.score(x).flatten(1).split(block), strict=True)
    values = torch.tensor([stein_discrepancy(*one, width).item() for one in blocks if len(one[0]) == block])
    values, count = values.double() * e.facts.scale**2, len(values)
    protocol = f"{count} blocks of {block}, kernel width {width / e.facts.scale:.3g} deviations"
    return Value(float(values.mean()), float(values.std()) / math.sqrt(count), count * block, protocol)


def stein_discrepancy(x: Tensor, score: Tensor, width: float) -> Tensor:
    """The unbiased estimate of KSD² for samples and their scores, `(n, D)` each."""
    n, u = len(x), stein_kernel(x, x, score, score, width)
    return (u.sum() - u.diagonal().sum()) / (n * (n - 1))


def stein_kernel(x: Tensor, y: Tensor, score_x: Tensor, score_y: Tensor, width: float) -> Tensor:
    """u(x, y) for all pairs, `(n, m)`."""
    squares, d = torch.cdist(x, y).square() / width**2, x.shape[1]
    # (s(x) − s(y))ᵀ(x − y) without a tensor of all differences.
    towards = (score_x * x).sum(1)[:, None] + (score_y * y).sum(1) - score_x @ y.mT - x @ score_y.mT
    return (-squares / 2).exp() * (score_x @ score_y.mT + (towards + d - squares) / width**2)


def median_distance(x: Tensor) -> float:
    """The median distance between two different events of `(n, D)`."""
    return float(torch.pdist(x).median())
