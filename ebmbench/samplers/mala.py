"""Metropolis-adjusted Langevin: a proposal, accepted with the probability that leaves exp(−E)/Z exactly in place.

x′ = x + d(x) + √η·ε, accepted with probability min(1, exp(−E(x′) + E(x)) · q(x | x′)/q(x′ | x)), where log q(b
| a) = −‖b − a − d(a)‖²/2η and the drift d is ½ηs(x), shortened to at most `truncation`·√η (the paper's MALTA).
Valid at any step size: too large a step is refused, not absorbed into the answer. Without the truncation a
chain that starts where the energy is steep overshoots, is refused, and never moves.

With `target_acceptance` a (0.574 is optimal in high dimension: Roberts & Rosenthal 1998), η adapts during the first
`warmup` of the steps by Robbins–Monro, log η ← log η + 4t^(−0.6) · (acceptance in the batch − a), and stays fixed for
the rest, so that those are valid steps. All chains share η: here, and only here, a chain depends on its batch.

Diagnostics: acceptance rate, and the mean gradient norm along the chain and at its end; with an adaptive step, those
of the steps after the warm-up, and the step size that they took.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, energy_and_score, fixed
from ebmbench.core.streams import draw_ahead, normal_on_cpu, uniform_per_event
from ebmbench.samplers.common.chain import Chain, GradientNorms, SteppingSettings
from ebmbench.samplers.common.metropolis import AcceptanceRate, select

PAPER = "Roberts & Tweedie, Exponential Convergence of Langevin Distributions, Bernoulli 2(4), 1996"
YEAR = 1996
LINK = "https://doi.org/10.2307/3318418"
EXAMPLE = {"steps": 5, "step_size": 0.1}
STATIONARY = {"steps": 50, "step_size": 0.5}


class Settings(SteppingSettings):
    """`{kind: mala, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["mala"] = "mala"
    truncation: float = Field(2.0, gt=0, description="longest drift, in units of the noise √η")
    target_acceptance: float | None = Field(None, gt=0, lt=1, description="null: η is fixed; a number: η adapts to it")
    warmup: float = Field(0.5, ge=0, lt=1, description="share of the steps during which η adapts, if it does")

    @property
    def alike(self) -> bool:
        """Not while η adapts."""
        return self.target_acceptance is None

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        if self.target_acceptance is None:
            return mala(energy, x, self.steps, self.step_size, self.truncation, generator)
        warmup = int(self.warmup * self.steps)
        x, step_size = adapt(energy, x, warmup, self, generator)
        chain = mala(energy, x, self.steps - warmup, step_size, self.truncation, generator)
        return Chain(chain.x, {**chain.diagnostics, "step_size": step_size})


class State(NamedTuple):
    """Where chains are, and what is known there: E, s and the drift, so that a refused proposal costs no more."""

    x: Tensor
    e: Tensor
    s: Tensor
    drift: Tensor


class Noise(NamedTuple):
    """What one proposal draws: ε, and a number in [0, 1) for each chain."""

    normal: Tensor
    uniform: Tensor


class Proposals(NamedTuple):
    """Proposals on one energy; η and √η as numbers, or as scalars on the energy's device while η adapts."""

    energy: Energy
    step_size: float | Tensor
    root: float | Tensor
    truncation: float

    @classmethod
    def of(cls, energy: Energy, step_size: float | Tensor, truncation: float) -> "Proposals":
        """For a step size η."""
        root = step_size.sqrt() if isinstance(step_size, Tensor) else math.sqrt(step_size)
        return cls(energy, step_size, root, truncation)

    def at(self, x: Tensor) -> State:
        """What is known at x."""
        e, s = energy_and_score(self.energy, x)
        return State(x, e, s, self.drift(s))

    def drift(self, s: Tensor) -> Tensor:
        """½ηs, no longer than truncation · √η; where s is zero, so is the drift."""
        drift = (0.5 * self.step_size) * s
        length = torch.linalg.vector_norm(drift.flatten(1), dim=1)
        share = length.reciprocal_().mul_(self.truncation * self.root).clamp_max_(1.0)
        return drift.mul_(share.reshape(-1, *[1] * (s.dim() - 1)))

    def step(self, state: State, noise: Noise) -> tuple[State, Tensor]:
        """One proposal for every chain: the new state, and which chains moved.

        With q = d(x) + d(x′), the proposals' densities differ by log q(x | x′) − log q(x′ | x) = −q·(q + 2√η·ε)/2η.
        """
        jump = noise.normal * self.root
        proposal = self.at(state.x + state.drift + jump)
        both = (state.drift + proposal.drift).flatten(1)
        odds = torch.linalg.vecdot(both, both + 2 * jump.flatten(1)) / (2 * self.step_size)
        accept = noise.uniform.log() < state.e - proposal.e - odds
        return State(*select(accept, proposal, state)), accept


@torch.no_grad()
def mala(
    energy: Energy, x: Tensor, steps: int, step_size: float | Tensor, truncation: float, generator: Generator
) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals."""
    proposals = Proposals.of(fixed(energy), step_size, truncation)
    norms, rate = GradientNorms(x, steps), AcceptanceRate(x)
    state = proposals.at(x.detach())
    for noise in _noise(x, steps, generator):
        state, accept = proposals.step(state, noise)
        rate.add(accept)
        norms.add(state.s)
    return Chain(state.x, {**rate.diagnostics(), **norms.diagnostics()})


@torch.no_grad()
def adapt(energy: Energy, x: Tensor, steps: int, settings: Settings, generator: Generator) -> tuple[Tensor, Tensor]:
    """The chains after `steps` proposals, and the step size (a scalar) that they led to."""
    assert settings.target_acceptance is not None
    energy, x = fixed(energy), x.detach()
    log_step = torch.tensor(math.log(settings.step_size), dtype=torch.float64, device=x.device)
    state = Proposals.of(energy, settings.step_size, settings.truncation).at(x)
    for t, noise in enumerate(_noise(x, steps, generator), start=1):
        proposals = Proposals.of(energy, log_step.exp(), settings.truncation)
        state, accept = proposals.step(state._replace(drift=proposals.drift(state.s)), noise)
        log_step = log_step + 4 * t**-0.6 * (accept.double().mean() - settings.target_acceptance)
    return state.x, log_step.exp()


def _noise(x: Tensor, steps: int, generator: Generator) -> Iterator[Noise]:
    drawn = draw_ahead(x, steps, lambda: (normal_on_cpu(x, generator), uniform_per_event(x, generator)))
    return (Noise(*one) for one in drawn)
