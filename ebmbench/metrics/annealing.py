"""Annealed importance sampling (Neal 2001), forward and reverse: log Z of an energy from both sides.

Between a base p₀ with known normaliser (`annealing_base`) and exp(−E) lie f_β = p₀^(1−β) · exp(−βE), with
0 = β₁ < … < β_K = 1 (`annealing_path`). A chain starts at x₁ ~ p₀ and for each β between takes a transition that
leaves f_β in place. Its weight

    log w = Σ_k (β_{k+1} − β_k) · (−E(x_k) − log p₀(x_k))

is unbiased, E w = Z: so E log w ≤ log Z, and log mean w, the *forward* estimate, is on average too low. A chain that
starts at a sample of the model and goes the same way back has E w′ = 1/Z with the negative sum: −log mean w′, the
*reverse* estimate, is on average too high (Grosse et al. 2015). Each errs on the other side by b nats with probability
at most e^(−b) (Markov). Together they are a bracket of log Z, never sorted: reverse below forward by more than
`CROSSED` standard errors says that the samples are not the model's.

The converse does not hold. Of samples from q in place of the model's p, E w′ = (1/Z) · E[q(x)/p(x)] over the ends x of
forward chains: wrong samples go unseen where forward chains end as p says, or where they seldom come.

Standard errors are those of the delta method, √((1/share − 1)/N) with the effective share of chains (Σw)²/(N Σw²). A
share near 1/N means that one chain decides; then the error is no more to be trusted than the estimate.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from ebmbench.core.energy import Energy
from ebmbench.core.sections import Annealing as Settings
from ebmbench.core.streams import stream
from ebmbench.metrics.annealing_base import Base
from ebmbench.metrics.annealing_path import Path, Schedule, pilot

CROSSED = 3.0


@dataclass(frozen=True)
class Estimate:
    """log Z from N chains, its standard error, and the effective share of the chains."""

    log_z: float
    error: float
    share: float
    chains: int

    @classmethod
    def of(cls, log_w: Tensor, sign: int = 1) -> "Estimate":
        """log mean w, or with sign −1 (of w′, whose mean is 1/Z) its negative."""
        n, total = len(log_w), log_w.logsumexp(0)
        share = float((2 * total - (2 * log_w).logsumexp(0)).exp()) / n
        return cls(sign * (float(total) - math.log(n)), math.sqrt(max(1 / share - 1, 0) / n), share, n)


@dataclass(frozen=True)
class Bracket:
    """The forward estimate, and the reverse one or why there is none."""

    forward: Estimate
    reverse: Estimate | None
    missing: str
    protocol: str

    @property
    def gap(self) -> tuple[float, float]:
        """Reverse − forward with its standard error; not a number without a reverse estimate."""
        if self.reverse is None:
            return math.nan, math.nan
        return self.reverse.log_z - self.forward.log_z, math.hypot(self.forward.error, self.reverse.error)

    @property
    def crossed(self) -> str:
        """By how much the bracket is crossed and what that means; empty if it is not, or there is none."""
        gap, error = self.gap
        if not gap < -CROSSED * error:
            return ""
        return (
            f"the bracket of log Z is crossed by {-gap:.3g} nats ({-gap / max(error, 1e-12):.0f} standard errors): the "
            f"samples that reverse chains start from are not the model's, so there is no upper bound"
        )


def anneal(energy: Energy, base: Base, settings: Settings, samples: Tensor | str) -> Bracket:
    """Both estimates, the reverse one from at most as many samples as there are chains; or why there are no samples."""
    path = Path(energy, base)
    schedule = pilot(path, settings, stream(0, "ais", "pilot"))
    ahead = Estimate.of(forward(path, schedule, settings.chains, stream(0, "ais", "forward")))
    starts = _starts(base, samples, settings.chains)
    protocol = f"AIS, {settings.chains} chains, {settings.temperatures} temperatures, base {base}"
    if isinstance(starts, str):
        return Bracket(ahead, None, starts, protocol)
    back = Estimate.of(reverse(path, schedule, starts, stream(0, "ais", "reverse")), sign=-1)
    return Bracket(ahead, back, "", protocol)


def _starts(base: Base, samples: Tensor | str, count: int) -> Tensor | str:
    """Coordinates of some samples, drawn at random; of images, of those in the box, where the model's density is."""
    if isinstance(samples, str):
        return samples
    inside = base.coordinates(samples)
    if len(inside) < 2:
        return f"{len(inside)} of {len(samples)} samples lie where the model's density is defined"
    return inside[torch.randperm(len(inside), generator=stream(0, "ais", "starts"))[:count]]


def forward(path: Path, schedule: Schedule, chains: int, generator: Generator) -> Tensor:
    """log w of chains from the base to the model, `(chains,)`."""
    return _log_weights(path, path.base.draw(chains, generator), schedule, generator)


def reverse(path: Path, schedule: Schedule, y: Tensor, generator: Generator) -> Tensor:
    """log w′ of chains from samples of the model, in coordinates `(N, d)`, to the base."""
    return _log_weights(path, y, schedule.reversed(), generator)


def _log_weights(path: Path, y: Tensor, schedule: Schedule, generator: Generator) -> Tensor:
    """A step in β is weighed where the chain is before it; after the last there is no need to move."""
    betas, steps, state = schedule.betas.tolist(), schedule.step_sizes.tolist(), path.at(y)
    log_w = (betas[1] - betas[0]) * state.log_ratio()
    for k in range(1, len(betas) - 1):
        state, _ = path.transition(state, betas[k], steps[k], generator)
        log_w = log_w + (betas[k + 1] - betas[k]) * state.log_ratio()
    return log_w
