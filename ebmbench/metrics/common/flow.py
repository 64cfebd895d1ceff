"""The density of a noise ladder, by its probability-flow ODE.

A network with noise levels gives the score s(x, σ) of the data smoothed by σ, from σ_min to σ_max. None of its levels
is the density that it samples from: a sampler walks through all of them, and wide levels set the weights of modes that
the narrowest knows nothing of. As σ grows, an event that moves along

    dx/dσ = −σ s(x, σ),   with τ = log σ:   dx/dτ = −σ² s(x, σ),

keeps the distribution of the smoothed data at every σ (Song et al. 2021, eq. 13, for noise whose variance explodes).
By the change of variables along such a path (Chen et al. 2018) the density at σ_min follows from that at σ_max:

    log q(x) = log N(x(σ_max); m, Σ + σ_max² I) − ∫ σ² div s(x(τ), σ) dτ,

with m and Σ the data's mean and covariance: exact for Gaussian data, and normalised whatever the network is. A score
without an energy has such a density too. Of data whose covariance is not written down, Σ is their mean variance.

The divergence is exact in up to `EXACT` dimensions, d products vᵀ∇s v along the axes; above, it is the mean over
`PROBES` directions v of ±1, the same all along a path (Hutchinson 1990; Grathwohl et al. 2019): unbiased, and the
directions' spread is its error. Between trained levels the network is asked for a σ that it never saw: it is
conditioned on σ continuously.

The solver is that of Dormand & Prince (1980), of fifth order, with equal steps in τ; paths are smooth there. Steps are
not adapted within a path, so that the value of an event does not depend on others. Their number is doubled until twice
as many move log q of given events by less than `TOLERANCE` in the mean; at most `MOST`.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import score_and_curvature
from ebmbench.core.streams import stream

EXACT = 10
PROBES = 4
FIRST, MOST = 6, 192  # steps
TOLERANCE = 5e-4  # nats
CHUNK = 256  # events at a time: the cache holds them

# Dormand & Prince (1980), RK5(4)7M: where stages lie, their coefficients, and the weights of the fifth order.
NODES = (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1)
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
WEIGHTS = (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)


@dataclass(frozen=True)
class Resolution:
    """A number of steps, and by how much twice as many move log q, in nats."""

    steps: int
    error: float

    @property
    def fine(self) -> bool:
        """Whether they are enough; an error that is not a number is not."""
        return self.error <= TOLERANCE


@dataclass(frozen=True)
class Flow:
    """The ladder of a network that has `given(sigma)`, and the facts of its data; paths are solved in `dtype`."""

    network: Any
    narrowest: float
    widest: float
    facts: Facts
    dtype: torch.dtype = torch.float64

    @property
    def exact(self) -> bool:
        """Whether the divergence is exact."""
        return math.prod(self.facts.shape) <= EXACT

    @property
    def divergence(self) -> str:
        """For protocols."""
        return "exact divergence" if self.exact else f"divergence by Hutchinson's estimator, {PROBES} directions"

    def resolve(self, x: Tensor) -> Resolution:
        """The smallest number of steps that is enough for these events, or the largest there is."""
        steps, coarse = FIRST, self.log_density(x, FIRST)
        while True:
            fine = self.log_density(x, 2 * steps)
            found = Resolution(steps, float((fine - coarse).abs().mean()))
            if found.fine or 2 * steps > MOST:
                return found
            steps, coarse = 2 * steps, fine

    def log_density(self, x: Tensor, steps: int) -> Tensor:
        """log q of events `(B, *event)`, `(B,)` in float64."""
        return self.estimates(x, steps).mean(0)

    @torch.no_grad()
    def estimates(self, x: Tensor, steps: int) -> Tensor:
        """log q by each direction of Hutchinson's estimator, `(PROBES, B)`; `(1, B)` where the divergence is exact."""
        x = x.to(self.dtype)
        parts = zip(x.split(CHUNK), self._directions(x).split(CHUNK, dim=1), strict=True)
        return torch.cat([self._solve(part, directions, steps) for part, directions in parts], dim=1)

    def _directions(self, x: Tensor) -> Tensor:
        """The axes, or directions of ±1 for each event from a named stream: `(M, B, *event)`."""
        if self.exact:
            d = math.prod(self.facts.shape)
            axes = torch.eye(d, dtype=x.dtype).reshape(d, 1, *x.shape[1:])
            return axes.expand(d, *x.shape)
        signs = torch.randint(2, (PROBES, *x.shape), generator=stream(0, "flow", "directions"))
        return (2 * signs - 1).to(x.dtype)

    def _solve(self, x: Tensor, directions: Tensor, steps: int) -> Tensor:
        start, end = math.log(self.narrowest), math.log(self.widest)
        step, total = (end - start) / steps, torch.zeros((), dtype=torch.float64)
        directions = directions.contiguous()
        for number in range(steps):
            rates: list[tuple[Tensor, Tensor]] = []
            for node, coefficients in zip(NODES, STAGES, strict=True):
                at = _sum(x, step, coefficients, [drift for drift, _ in rates])
                rates.append(self._rates(at, directions, math.exp(start + (number + node) * step)))
            x = _sum(x, step, WEIGHTS, [drift for drift, _ in rates])
            total = _sum(total, step, WEIGHTS, [divergence.double() for _, divergence in rates])
        return self._log_end(x) - total

    def _rates(self, x: Tensor, directions: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
        """dx/dτ, and σ² div s by each direction or, where they are the axes, by all of them: `(M, B)` or `(1, B)`."""
        s, curvature = score_and_curvature(self.network.given(sigma), x, directions)
        divergence = curvature.sum(0, keepdim=True) if self.exact else curvature
        return -(sigma**2) * s.detach(), sigma**2 * divergence.detach()

    def _log_end(self, x: Tensor) -> Tensor:
        """log N(x; m, Σ + σ_max² I)."""
        mean, unit = torch.tensor(self.facts.mean).double(), torch.eye(math.prod(self.facts.shape)).double()
        known = self.facts.covariance
        spread = torch.tensor(known).double() if known else self.facts.scale**2 * unit
        normal = MultivariateNormal(mean, spread + self.widest**2 * unit, validate_args=False)
        return normal.log_prob(x.double().flatten(1))


def _sum(x: Tensor, step: float, coefficients: tuple[float, ...], rates: list[Tensor]) -> Tensor:
    """x + step · Σ coefficient · rate."""
    for coefficient, rate in zip(coefficients, rates, strict=True):
        if coefficient:
            x = torch.add(x, rate, alpha=step * coefficient)
    return x
