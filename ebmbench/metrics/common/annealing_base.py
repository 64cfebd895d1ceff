"""The density that annealing starts from: a Gaussian with a known normaliser and exact samples, in a box if need be.

x = m + R·y with y standard normal, so that chains move in y, where the data have deviation about one in every
direction. m is the data's mean; RRᵀ is their covariance, or their variances where it is not written down, made
`WIDER` times as wide: a base that covers the model is left easily in both directions.

Images: a network's energy need not confine, and Z over all of space could be infinite. The density of an image is
therefore defined on the box [−1 − w/2, 1 + w/2]ᵈ, w = 2/(levels − 1) being the width of one grey value, and is zero
outside: the support of images that were made continuous by uniform noise of width w (`dequantised`). The base is then
a product of Gaussians cut off at the box, each with its normaliser Φ(high) − Φ(low), and chains are reflected at the
walls. A pixel's deviation is at least `NARROWEST`: pixels that never change in the data may change in the model.

Also here: the temperatures, a first guess for the pilot and where the pilot says that they are needed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor
from torch.special import ndtr, ndtri

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream

ACCEPTANCE = 0.65  # Beskos et al. 2013: optimal for Hamiltonian proposals in high dimension
STEEPNESS = 4.0  # of the pilot's sigmoid schedule (Grosse et al. 2013)
EVEN = 0.2
WIDER = 1.2
NARROWEST = 0.3


@dataclass(frozen=True)
class Base:
    """N(centre, root·rootᵀ) between walls; `root` is `(d, d)`, lower triangular, or `(d,)`, a diagonal.

    `low` and `high` are the walls in coordinates y, `(d,)`; infinite where there are none.
    """

    shape: list[int]
    centre: Tensor
    root: Tensor
    low: Tensor
    high: Tensor

    def __str__(self) -> str:
        """For protocols."""
        kind = "a Gaussian with the data's moments" if not self._walled else "a factorised Gaussian cut off at the box"
        return f"{kind}, {WIDER} times as wide"

    def draw(self, count: int, generator: Generator) -> Tensor:
        """Exact samples y, `(count, d)`, by the inverse of the distribution function."""
        share = torch.rand(count, len(self.centre), generator=generator, dtype=torch.float64)
        below, above = ndtr(self.low), ndtr(self.high)
        # The generator can give 0, whose quantile would be −∞.
        return ndtri((below + (above - below) * share).clamp_min(1e-300)).clamp(self.low, self.high)

    def log_prob(self, y: Tensor) -> Tensor:
        """log p₀ of the event that y stands for, per volume of *events*, `(B,)`."""
        return -0.5 * y.square().sum(1) - self._log_constant

    @cached_property
    def _log_constant(self) -> float:
        diagonal = self.root if self.root.dim() == 1 else self.root.diagonal()
        inside = ndtr(self.high) - ndtr(self.low)
        return float((0.5 * math.log(2 * math.pi) + diagonal.log() + inside.log()).sum())

    @cached_property
    def _walled(self) -> bool:
        return bool(torch.isfinite(self.low).any())

    def events(self, y: Tensor) -> Tensor:
        """x = m + R·y, `(B, *shape)`."""
        x = self.centre + (y * self.root if self.root.dim() == 1 else y @ self.root.mT)
        return x.reshape(-1, *self.shape)

    def pull_back(self, s: Tensor) -> Tensor:
        """A score in events as one in coordinates, Rᵀs."""
        return s.flatten(1) * self.root if self.root.dim() == 1 else s.flatten(1) @ self.root

    def coordinates(self, x: Tensor) -> Tensor:
        """y of the nearest events between the walls."""
        shifted = x.double().flatten(1) - self.centre
        diagonal = self.root.dim() == 1
        y = shifted / self.root if diagonal else torch.linalg.solve_triangular(self.root, shifted.mT, upper=False).mT
        return y.clamp(self.low, self.high)

    def reflect(self, y: Tensor, momentum: Tensor) -> tuple[Tensor, Tensor]:
        """The end of a straight flight to y with walls as mirrors, and the momentum after it.

        Flight and mirrors keep volume and can be run backwards, so Hamiltonian proposals stay valid.
        """
        if not self._walled:
            return y, momentum
        width = self.high - self.low
        phase = (y - self.low).remainder(2 * width)
        back = phase > width
        return self.low + torch.where(back, 2 * width - phase, phase), torch.where(back, -momentum, momentum)


def make_base(facts: Facts, train: Tensor | None) -> Base:
    """The base for a dataset: full covariance where it is known, else variances, else one scale for all."""
    centre = torch.tensor(facts.mean, dtype=torch.float64)
    if facts.is_image:
        edge = 1 + 0.5 * level_width(facts)
        root = WIDER * _deviations(facts, train).clamp_min(NARROWEST / WIDER)
        return Base(facts.shape, centre, root, (-edge - centre) / root, (edge - centre) / root)
    infinite = torch.full_like(centre, math.inf)
    if facts.covariance:
        root = WIDER * torch.linalg.cholesky(torch.tensor(facts.covariance, dtype=torch.float64))
    else:
        root = WIDER * _deviations(facts, train).clamp_min(1e-3 * facts.scale)
    return Base(facts.shape, centre, root, -infinite, infinite)


def _deviations(facts: Facts, train: Tensor | None) -> Tensor:
    if train is None:
        return torch.full((math.prod(facts.shape),), facts.scale, dtype=torch.float64)
    return train.flatten(1).std(0).double()


def level_width(facts: Facts) -> float:
    """The distance of two neighbouring grey values in [−1, 1]."""
    return 2 / (facts.image_levels - 1)


def dequantise(x: Tensor, facts: Facts) -> Tensor:
    """Events in float64; images with uniform noise of one level's width, so that a density can speak of them."""
    x = x.double()
    if not facts.is_image:
        return x
    noise = torch.rand(x.shape, generator=stream(0, "ais", "dequantise"), dtype=x.dtype) - 0.5
    return x + level_width(facts) * noise


def spread(betas: Tensor, speeds: Tensor, count: int) -> Tensor:
    """`count` temperatures from 0 to 1 at equal steps of (1 − EVEN) · ∫ speed dβ / total + EVEN · β."""
    speeds = speeds.nan_to_num(0, 0)  # a speed that is not finite is no guide
    lengths = torch.cat([speeds.new_zeros(1), (0.5 * (speeds[1:] + speeds[:-1]) * betas.diff()).cumsum(0)])
    travelled = (1 - EVEN) * lengths / lengths[-1].clamp_min(1e-300) + EVEN * betas
    even = torch.linspace(0, 1, count, dtype=torch.float64)
    return interpolate(even * travelled[-1], travelled, betas)


def sigmoid(count: int) -> Tensor:
    """β as a sigmoid of the index, from 0 to 1, `(count,)`: dense at both ends."""
    s = (STEEPNESS * torch.linspace(-1, 1, count, dtype=torch.float64)).sigmoid()
    return (s - s[0]) / (s[-1] - s[0])


def interpolate(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Piecewise linear through the points (x, y), x ascending."""
    right = torch.searchsorted(x, at).clamp(1, len(x) - 1)
    share = ((at - x[right - 1]) / (x[right] - x[right - 1])).clamp(0, 1)
    return torch.lerp(y[right - 1], y[right], share)
