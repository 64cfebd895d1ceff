"""Gaussian: mean and covariance of the training data and nothing else.

A method that does not beat it has learned no shape.
"""

import torch
from torch import Generator, Tensor
from torch.distributions import MultivariateNormal

from ebmbench.core.facts import Facts
from ebmbench.data.densities.density import Density
from ebmbench.metrics.evaluation import Subject

PAPER = "Fisher, On the Mathematical Foundations of Theoretical Statistics, 1922"
YEAR = 1922


def subject(density: Density | None, train: Tensor, facts: Facts, count: int, generator: Generator) -> Subject:
    """The maximum-likelihood Gaussian with its exact density and exact samples."""
    mean = torch.tensor(facts.mean, dtype=torch.float64)
    normal = MultivariateNormal(mean, torch.tensor(facts.covariance, dtype=torch.float64))
    noise = torch.randn(count, len(mean), generator=generator, dtype=torch.float64)
    samples = mean + noise @ normal.scale_tril.mT
    return Subject(lambda x: -normal.log_prob(x.flatten(1)), samples.float().reshape(count, *facts.shape), density)
