"""The contract of a known density p on ℝᵈ."""

from typing import Protocol, Self

from torch import Generator, Tensor


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
