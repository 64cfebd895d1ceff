"""Noise for contrastive estimation, as `torch.distributions` objects over flat events, fitted to data."""

import math

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, Independent, MultivariateNormal, Uniform, constraints

from ebmbench.core.facts import Facts


def gaussian(facts: Facts, data: Tensor | None, inflation: float, shrinkage: float) -> MultivariateNormal:
    """The data's mean and covariance × inflation, with `shrinkage` of the mean variance added to the diagonal.

    Facts of many coordinates hold no covariance: then it is measured, in float64.
    """
    mean = torch.tensor(facts.mean)
    if facts.covariance:
        covariance = torch.tensor(facts.covariance)
    else:
        assert data is not None, "the facts hold no covariance and there are no data to measure it"
        covariance = data.flatten(1).double().mT.cov().float()
    extra = shrinkage * facts.scale**2 * torch.eye(len(mean)) if shrinkage else 0.0
    return MultivariateNormal(mean, inflation * covariance + extra)


def box(facts: Facts, inflation: float) -> Distribution:
    """Uniform: on [−1, 1] × inflation for images, else four deviations × inflation about each coordinate's mean."""
    mean = torch.tensor(facts.mean)
    if facts.is_image:
        low, high = torch.full_like(mean, -inflation), torch.full_like(mean, inflation)
    else:
        # Four deviations to each side hold all but the farthest data of every dataset here.
        reach = 4 * inflation * torch.tensor(facts.covariance).diagonal().sqrt()
        low, high = mean - reach, mean + reach
    # Unvalidated: a datum outside the box has log-density −∞, and the classifier is rightly sure of it.
    return Independent(Uniform(low, high, validate_args=False), 1, validate_args=False)


class Anchored(Distribution):
    """Equal Gaussians N(aᵢ, w²I) about some of the data: p(x) = mean of the components' densities at x."""

    arg_constraints = {}  # noqa: RUF012
    support = constraints.real_vector

    def __init__(self, anchors: Tensor, width: float) -> None:
        super().__init__(event_shape=anchors.shape[1:], validate_args=False)
        self.anchors, self.width = anchors, width

    def sample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Tensor:
        """Draws `(*sample_shape, d)` from torch's current generator, as all its distributions do."""
        index = torch.randint(len(self.anchors), tuple(sample_shape))
        centres = self.anchors[index]
        return centres + self.width * torch.randn_like(centres)

    def log_prob(self, value: Tensor) -> Tensor:
        """log p(x), `(B, d) -> (B,)`."""
        squares = torch.cdist(value, self.anchors).square() / self.width**2
        constant = math.log(len(self.anchors)) + value.shape[-1] * math.log(self.width * math.sqrt(2 * math.pi))
        return torch.logsumexp(-0.5 * squares, dim=-1) - constant


def anchored(facts: Facts, data: Tensor, count: int, width: float, generator: Generator) -> Anchored:
    """`count` of the data, chosen at random; `width` in the data's unit."""
    index = torch.randperm(len(data), generator=generator)[:count]
    return Anchored(data[index].flatten(1), width * facts.unit)


def sample(noise: Distribution, count: int, generator: Generator) -> Tensor:
    """torch's distributions know only the global generator: lend it a seed of ours and put it back as it was."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed formats a stack trace for absent GPUs
        return noise.sample((count,))
