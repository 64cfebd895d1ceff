"""Equal squares with Gaussian-smoothed edges: uniform on a union of squares, convolved with N(0, w² I).

For one square the density is a product over the coordinates of (Φ((x − a)/w) − Φ((x − b)/w)) / (b − a), with Φ the
normal distribution function: an indicator whose edges are error functions of width w. The logarithm of the difference
is taken in the tail where it is not a difference of ones, so log p stays exact and finite far from the board.
"""

import math

import torch
from torch import Generator, Tensor
from torch.special import log_ndtr


class Squares:
    """Uniform mixture of squares of side `side` centred at `centres` (M, d), smoothed with deviation `width`."""

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


def _log_phi(z: Tensor) -> Tensor:
    return -0.5 * z.square() - 0.5 * math.log(2 * math.pi)
