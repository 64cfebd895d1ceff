"""Densities that are known exactly: samples, log p, the score, the modes, and the same density with noise added."""

import math
from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Generator, Tensor
from torch.special import log_ndtr

from ebmbench.core.binary import index_of, states


class Density(Protocol):
    """Everything is exact and in the precision of its argument; `centres` (M, d) and `weights` (M,) are its modes."""

    centres: Tensor
    weights: Tensor

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws, shape `(count, d)`."""

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x), shape `(B,)`, finite wherever x is."""

    def score(self, x: Tensor) -> Tensor:
        """∇ log p(x), shape `(B, d)`."""

    def smoothed(self, sigma: float) -> Self:
        """The density of x + σε with ε ~ N(0, I)."""


class Mixture:
    """Mixture of Gaussians with centres `(M, d)`, weights `(M,)` and one deviation: p(x) = Σₘ wₘ N(x; μₘ, σ² I).

    log p is a log-sum-exp. The score is the responsibility-weighted pull to the centres,
    ∇ log p(x) = Σₘ rₘ(x) (μₘ − x)/σ². Adding noise of deviation τ gives the same mixture with σ² + τ².
    """

    def __init__(self, centres: Tensor, weights: Tensor, deviation: float) -> None:
        self.centres = centres.double()
        self.weights = weights.double() / weights.double().sum()
        self.deviation = deviation

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws in float32, shape `(count, d)`."""
        which = torch.multinomial(self.weights, count, replacement=True, generator=generator)
        noise = torch.randn(count, self.centres.shape[1], generator=generator, dtype=torch.float64)
        return (self.centres[which] + self.deviation * noise).float()

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x)."""
        d = self.centres.shape[1]
        constant = -d * math.log(self.deviation * math.sqrt(2 * math.pi))
        return self._joint(x).logsumexp(-1) + constant

    def score(self, x: Tensor) -> Tensor:
        """∇ log p(x)."""
        responsibilities = self._joint(x).softmax(-1)
        return (responsibilities @ self.centres.to(x.dtype) - x) / self.deviation**2

    def smoothed(self, sigma: float) -> "Mixture":
        """The density of x + σε."""
        return Mixture(self.centres, self.weights, math.hypot(self.deviation, sigma))

    def _joint(self, x: Tensor) -> Tensor:
        """log wₘ − ‖x − μₘ‖²/2σ², shape `(B, M)`; coordinate by coordinate, so that no `(B, M, d)` is ever held."""
        centres = self.centres.to(x.dtype)
        squares = torch.zeros(len(x), len(centres), dtype=x.dtype)
        for coordinate, places in zip(x.unbind(1), centres.unbind(1), strict=True):
            squares = squares + (coordinate[:, None] - places).square()
        return self.weights.log().to(x.dtype) - squares / (2 * self.deviation**2)


class Squares:
    """Uniform on squares of side `side` around `centres` (M, d), convolved with N(0, w² I), where w is `width`.

    For one square [a, b]ᵈ the density is the product over the coordinates of (Φ((x − a)/w) − Φ((x − b)/w)) / (b − a),
    with Φ the normal distribution function: an indicator whose edges are error functions of width w.
    """

    def __init__(self, centres: Tensor, side: float, width: float) -> None:
        self.centres = centres.double()
        self.weights = torch.full((len(centres),), 1 / len(centres), dtype=torch.float64)
        self.side = side
        self.width = width

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws in float32: a square, a place in it, and the smoothing noise."""
        shape = (count, self.centres.shape[1])
        which = torch.multinomial(self.weights, count, replacement=True, generator=generator)
        place = torch.rand(shape, generator=generator, dtype=torch.float64) - 0.5
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (self.centres[which] + self.side * place + self.width * noise).float()

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x)."""
        return (self._edges(x).sum(-1) + self.weights.log().to(x.dtype)).logsumexp(-1)

    def score(self, x: Tensor) -> Tensor:
        """∇ log p(x): the squares' own slopes, weighted by their responsibilities."""
        edges = self._edges(x)
        responsibilities = (edges.sum(-1) + self.weights.log().to(x.dtype)).softmax(-1)
        lower, upper = self._offsets(x)
        slopes = (_log_phi(lower) - edges).exp() - (_log_phi(upper) - edges).exp()
        return (responsibilities[..., None] * slopes).sum(1) / (self.side * self.width)

    def smoothed(self, sigma: float) -> "Squares":
        """The density of x + σε."""
        return Squares(self.centres, self.side, math.hypot(self.width, sigma))

    def _offsets(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Signed distances to the lower and upper edges in units of the width, each `(B, M, d)`."""
        offset = x[:, None] - self.centres.to(x.dtype)
        return (offset + self.side / 2) / self.width, (offset - self.side / 2) / self.width

    def _edges(self, x: Tensor) -> Tensor:
        """log of each coordinate's smoothed indicator over the side, `(B, M, d)`."""
        lower, upper = self._offsets(x)
        # Φ(u) − Φ(l) = Φ(−l) − Φ(−u): mirror to the side where both are small, so that no digits cancel.
        mirrored = lower + upper > 0
        high = torch.where(mirrored, -upper, lower)
        low = torch.where(mirrored, -lower, upper)
        log_high, log_low = log_ndtr(high), log_ndtr(low)
        return log_high + torch.log(-torch.expm1(log_low - log_high)) - math.log(self.side)


class Table:
    """A distribution of few binary units by the log-probabilities of all their states, in the order of `states`.

    `population` `(N, *shape)` lists equally likely events, if the distribution is made of such: a training set of N
    events is then the whole population, each once. A table has no score, no centres and no noisy version.
    """

    def __init__(self, log_p: Tensor, shape: Sequence[int], population: Tensor | None = None) -> None:
        self.log_p = log_p.double() - log_p.double().logsumexp(0)
        self.shape = list(shape)
        self.population = population

    @classmethod
    def of_population(cls, events: Tensor) -> "Table":
        """Equally likely events `(N, *shape)`; an event that is listed twice is twice as likely."""
        counts = index_of(events).bincount(minlength=2 ** events[0].numel())
        return cls(counts.double().log(), events.shape[1:], events.float())

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws in float32, shape `(count, *shape)`."""
        which = torch.multinomial(self.log_p.exp(), count, replacement=True, generator=generator)
        bits = which[:, None] >> torch.arange(math.prod(self.shape)) & 1
        return bits.float().reshape(-1, *self.shape)

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x), −∞ for states that never occur."""
        return self.log_p[index_of(x)]

    def events(self) -> Tensor:
        """All states, `(2^n, *shape)` in float64."""
        return states(math.prod(self.shape)).reshape(-1, *self.shape)


def _log_phi(z: Tensor) -> Tensor:
    return -0.5 * z.square() - 0.5 * math.log(2 * math.pi)
