"""Gaussian: mean and covariance of the training data and nothing else.

A method that does not beat it has learned no shape. Densities of images are judged on dequantised ones, so it has the
variance of that noise, w²/12 for grey values w apart, in every coordinate. Of large images (more than 3072
coordinates) the covariance is low-rank plus diagonal, W Wᵀ + D: the leading principal axes of a fixed subset, and what
they leave of each variance. Of binary data it gives nothing, since a density is no probability.
"""

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, LowRankMultivariateNormal, MultivariateNormal

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.annealing_base import level_width
from ebmbench.metrics.common.evaluation import Subject

PAPER = "Fisher, On the Mathematical Foundations of Theoretical Statistics, 1922"
YEAR = 1922
LINK = "https://doi.org/10.1098/rsta.1922.0009"
LARGEST = 3072  # coordinates of a full covariance: 32×32 in colour
SUBSET, RANK = 2000, 256
RIDGE = 1e-6  # of the mean variance on the diagonal, as in `Facts`: pixels that are constant stay usable


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """The maximum-likelihood Gaussian with its exact density and exact samples, which nothing clamps."""
    if facts.binary:
        return Subject(None, None, kind="exact")
    mean = torch.tensor(facts.mean, dtype=torch.float64)
    if len(mean) > LARGEST:
        return _large(density, train, facts, count, generator)
    known = torch.tensor(facts.covariance, dtype=torch.float64)
    whole = known if len(known) else covariance(train.flatten(1), mean)
    normal = MultivariateNormal(mean, whole + rounding_variance(facts) * torch.eye(len(mean), dtype=torch.float64))
    noise = torch.randn(count, len(mean), generator=generator, dtype=torch.float64)
    samples = mean + noise @ normal.scale_tril.mT
    return _of(normal, samples, density, facts)


def rounding_variance(facts: Facts) -> float:
    """The variance of uniform noise as wide as a grey value; 0 for data that are no images."""
    return level_width(facts) ** 2 / 12 if facts.is_image else 0.0


def covariance(rows: Tensor, mean: Tensor) -> Tensor:
    """The covariance of `(N, d)` in float64, in chunks, with a ridge."""
    total = torch.zeros(len(mean), len(mean), dtype=torch.float64)
    for chunk in rows.split(5000):
        centred = chunk.double() - mean
        total.addmm_(centred.mT, centred)
    total /= len(rows) - 1
    return total + RIDGE * total.diagonal().mean() * torch.eye(len(mean), dtype=torch.float64)


def low_rank(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, W and the diagonal of D of `(N, d)`; axes are found from the N × N matrix of scalar products, N < d."""
    mean, spread = rows.mean(0), len(rows) - 1
    centred = rows - mean
    _, vectors = torch.linalg.eigh(centred @ centred.mT)
    factor = centred.mT @ vectors[:, -min(RANK, spread) :] / spread**0.5  # orthogonal, as long as their deviations
    variance = centred.square().sum(0) / spread
    rest = (variance - factor.square().sum(1)).clamp(min=0)
    return mean, factor, rest + RIDGE * variance.mean()


def _large(density: Density | None, train: Tensor, facts: Facts, count: int, generator: Generator) -> Subject:
    chosen = torch.randperm(len(train), generator=stream(0, "gaussian", "subset", facts.name))[:SUBSET]
    mean, factor, rest = low_rank(train[chosen].flatten(1).double())
    rest = rest + rounding_variance(facts)
    along = torch.randn(count, factor.shape[1], generator=generator, dtype=torch.float64)
    own = torch.randn(count, len(mean), generator=generator, dtype=torch.float64)
    samples = mean + along @ factor.mT + own * rest.sqrt()
    return _of(LowRankMultivariateNormal(mean, factor, rest), samples, density, facts)


def _of(normal: Distribution, samples: Tensor, density: Density | None, facts: Facts) -> Subject:
    shaped = samples.float().reshape(len(samples), *facts.shape)
    return Subject(lambda x: -normal.log_prob(x.flatten(1)), shaped, density, kind="exact")
