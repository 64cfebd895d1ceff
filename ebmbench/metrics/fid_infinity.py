"""FID of infinitely many samples: FID of subsets of n samples is about a + b/n, and a is what is wanted.

FID is biased upwards by an amount that depends on the model, so even equal n do not make it fair. The line is fitted by
least squares to 15 sizes, evenly from twice the number of features (below, 1/n² matters) to all samples. Each size has
the mean over ten random subsets, where the paper has one: that halves the noise of small n. The reference stays the
same, so a is the distance to *its* Gaussian. A distance cannot be below zero but its estimate can, if the samples
are more alike to the data than independent draws would be (the oracle of digits is stratified by class).
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.fidelity import SEED, fidelity

PAPER = "Chong & Forsyth, Effectively Unbiased FID and Inception Score and Where to Find Them, CVPR 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/1911.07023"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")
SIZES = 15  # Chong & Forsyth 2020
SUBSETS = 10  # of each size
LEAST = 2  # samples per feature in the smallest subset; a line needs twice as many, so that 1/n changes by half


def compute(e: Evaluation) -> Value:
    """In the units of FID."""
    found = fidelity(e)
    n, least = found.n, LEAST * found.features.shape[1]
    if n < 2 * least:
        raise Unavailable(f"a line to n → ∞ needs {2 * least} samples, four for each feature, has {n}")
    value = extrapolate(found.features, found.real["mean"], found.real["covariance"])
    line = f"line in 1/n through {SIZES} sizes from {least} to {n}, {SUBSETS} subsets each"
    return Value(value, n=n, protocol=f"{found.protocol}; {line}")


def extrapolate(features: Tensor, mean: Tensor, covariance: Tensor) -> float:
    """The Fréchet distance of features `(N, D)` to a Gaussian, for N → ∞."""
    # In an order of their own, so that the same images have the same subsets whatever order they come in.
    features = features[features[:, 0].argsort()]
    count, distance = len(features), distance_to(features, mean, covariance)
    sizes = np.linspace(LEAST * features.shape[1], count, SIZES).astype(int)
    values = []
    for size in sizes.tolist():
        draws = SUBSETS if size < count else 1
        orders = (torch.randperm(count, generator=stream(SEED, "fid_infinity", size, i)) for i in range(draws))
        values.append(math.fsum(distance(order[:size]) for order in orders) / draws)
    return float(np.polynomial.polynomial.polyfit(1 / sizes, values, 1)[0])


def distance_to(features: Tensor, mean: Tensor, covariance: Tensor) -> Callable[[Tensor], float]:
    """The function that gives the Fréchet distance of some rows: tr (ΣΣ′)^½ is the trace of the root of Σ′^½ΣΣ′^½.

    That matrix is the covariance of Σ′^½x, and symmetric: its eigenvalues are found ten times as fast as those of ΣΣ′.
    """
    scales, axes = torch.linalg.eigh(covariance)
    turned = features @ (axes * scales.clamp(min=0).sqrt()) @ axes.mT

    def distance(rows: Tensor) -> float:
        x, shift = features[rows], features[rows].mean(0) - mean
        root = torch.linalg.eigvalsh(turned[rows].mT.cov()).clamp(min=0).sqrt().sum()
        return float(shift @ shift + x.var(0).sum() + covariance.trace() - 2 * root)

    return distance
