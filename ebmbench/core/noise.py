"""Noise for contrastive estimation, as `torch.distributions` objects over flat events, fitted to data."""

import math

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, Independent, MultivariateNormal, Uniform, constraints
from torch.nn.functional import linear

from ebmbench.core.dataset import Facts
from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML


class Gaussian(MultivariateNormal):
    """N(m, LLᵀ) that is drawn from a given generator, with L⁻¹ computed once for all training steps."""

    def __init__(self, mean: Tensor, covariance: Tensor) -> None:
        super().__init__(mean, covariance)
        self.root = self.scale_tril
        eye = torch.eye(len(mean), dtype=mean.dtype)
        self.inverse = torch.linalg.solve_triangular(self.root, eye, upper=False)
        self.constant = float(self.root.diagonal().log().sum()) + 0.5 * len(mean) * math.log(2 * math.pi)

    def draw(self, count: int, generator: Generator) -> Tensor:
        """`(count, d)`."""
        noise = torch.randn(count, len(self.loc), generator=generator, dtype=self.loc.dtype)
        return linear(noise, self.root, self.loc)

    def log_prob(self, value: Tensor) -> Tensor:
        """`(B, d) -> (B,)`."""
        standardised = linear(value - self.loc, self.inverse.to(value.dtype))
        return standardised.square().sum(1).mul(-0.5) - self.constant


def fit_gaussian(facts: Facts, data: Tensor | None, inflation: float, shrinkage: float) -> Gaussian:
    """The data's mean and covariance × inflation, with `shrinkage` of the mean variance added to the diagonal."""
    mean, covariance = torch.tensor(facts.mean), _covariance(facts, data)
    extra = shrinkage * facts.scale**2 * torch.eye(len(mean)) if shrinkage else 0.0
    try:
        return Gaussian(mean, inflation * covariance + extra)
    except ValueError as error:
        found = f"found {shrinkage:g} for Gaussian noise, but the covariance of {facts.name} is singular"
        raise UserError(f"{PARAMS_YAML}: methods: shrinkage: {found}, allowed: more, such as 0.02") from error


def fit_box(facts: Facts, data: Tensor | None, inflation: float) -> Distribution:
    """Uniform: on [−1, 1] × inflation for images, else four deviations × inflation about each coordinate's mean."""
    mean = torch.tensor(facts.mean)
    if facts.is_image:
        low, high = torch.full_like(mean, -inflation), torch.full_like(mean, inflation)
    else:
        # Four deviations to each side hold all but the farthest data of every dataset here.
        reach = 4 * inflation * _covariance(facts, data).diagonal().sqrt()
        low, high = mean - reach, mean + reach
    # Unvalidated: a datum outside the box has log-density −∞, and the classifier is rightly sure of it.
    return Independent(Uniform(low, high, validate_args=False), 1, validate_args=False)


def _covariance(facts: Facts, data: Tensor | None) -> Tensor:
    """The covariance of the facts, or of the data if the facts have none (many coordinates), with a small ridge."""
    if facts.covariance:
        return torch.tensor(facts.covariance)
    assert data is not None, "the facts hold no covariance and there are no data to measure it"
    covariance = data.flatten(1).double().mT.cov()
    return (covariance + 1e-6 * covariance.diagonal().mean() * torch.eye(len(covariance))).float()


class Anchored(Distribution):
    """Gaussians N(aᵢ, wⱼ²I) about some of the data, of several widths, all equally likely.

    p(x) = mean over i and j of N(x; aᵢ, wⱼ²I). In many dimensions the length of the noise alone would tell a single
    width from data; several widths give noise near data and far from them.
    """

    arg_constraints = {}  # noqa: RUF012
    support = constraints.real_vector

    def __init__(self, anchors: Tensor, widths: Tensor) -> None:
        super().__init__(event_shape=anchors.shape[1:], validate_args=False)
        self.anchors, self.widths = anchors, widths.to(anchors)

    def sample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Tensor:
        """Draw `(*sample_shape, d)` from torch's current generator, as all its distributions do."""
        shape = tuple(sample_shape)
        centres = self.anchors[torch.randint(len(self.anchors), shape)]
        widths = self.widths[torch.randint(len(self.widths), shape)]
        return centres + widths.unsqueeze(-1) * torch.randn_like(centres)

    def log_prob(self, value: Tensor) -> Tensor:
        """log p(x), `(B, d) -> (B,)`."""
        squares = torch.cdist(value, self.anchors).square()
        of_width = [
            torch.logsumexp(-0.5 * squares / w**2, dim=-1) - value.shape[-1] * math.log(w * math.sqrt(2 * math.pi))
            for w in self.widths.tolist()
        ]
        count = len(self.anchors) * len(self.widths)
        return torch.logsumexp(torch.stack(of_width), dim=0) - math.log(count)


def fit_anchored(facts: Facts, data: Tensor, count: int, widths: Tensor, generator: Generator) -> Anchored:
    """`count` of the data, chosen at random; widths in the data's unit."""
    index = torch.randperm(len(data), generator=generator)[:count]
    return Anchored(data[index].flatten(1), widths * facts.unit)


def draw_noise(noise: Distribution, count: int, generator: Generator) -> Tensor:
    """Draw `(count, d)`.

    torch's distributions use the global generator: it gets a seed from ours, and its state is restored afterwards.
    """
    if isinstance(noise, Gaussian):
        return noise.draw(count, generator)
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed formats a stack trace for absent GPUs
        return noise.sample((count,))
