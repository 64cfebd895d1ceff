"""Mixture of Gaussians with one isotropic deviation each: p(x) = Σₘ wₘ N(x; μₘ, σ² I).

log p is a log-sum-exp, the score is the responsibility-weighted pull to the centres,
∇ log p(x) = Σₘ rₘ(x) (μₘ − x)/σ², and adding noise of deviation τ gives the same mixture with σ² + τ².
"""

import math

import torch
from torch import Generator, Tensor


class Mixture:
    """Gaussian mixture with centres `(M, d)`, weights `(M,)` and a common deviation."""

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
