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
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, energy_and_score
from ebmbench.core.streams import normal
from ebmbench.samplers.chain import Chain, SteppingSettings
from ebmbench.samplers.metropolis import accepted, moved

PAPER = "Roberts & Tweedie, Exponential Convergence of Langevin Distributions, Bernoulli 2(4), 1996"
YEAR = 1996


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
        x, step_size = adapted(energy, x, warmup, self, generator)
        chain = mala(energy, x, self.steps - warmup, step_size, self.truncation, generator)
        return Chain(chain.x, {**chain.diagnostics, "step_size": step_size})


class State(NamedTuple):
    """Where chains are, and what is known there: E, s and the drift, so that a refused proposal costs no more."""

    x: Tensor
    e: Tensor
    s: Tensor
    drift: Tensor


def mala(
    energy: Energy, x: Tensor, steps: int, step_size: float | Tensor, truncation: float, generator: Generator
) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals."""
    state = _state(energy, x, step_size, truncation)
    moves = total = torch.zeros(())
    for _ in range(steps):
        state, accept = _step(energy, state, step_size, truncation, generator)
        moves = moves + accept.float().mean()
        total = total + state.s.flatten(1).norm(dim=1).mean()
    last = state.s.flatten(1).norm(dim=1).mean()
    diagnostics = {"acceptance": moves / steps, "gradient_norm": total / steps, "last_gradient_norm": last}
    return Chain(state.x.detach(), diagnostics)


def adapted(energy: Energy, x: Tensor, steps: int, settings: Settings, generator: Generator) -> tuple[Tensor, Tensor]:
    """The chains after `steps` proposals, and the step size (a scalar) that they led to."""
    assert settings.target_acceptance is not None
    log_step = torch.tensor(math.log(settings.step_size), dtype=torch.float64)
    state = _state(energy, x, settings.step_size, settings.truncation)
    for t in range(1, steps + 1):
        step_size = log_step.exp()
        state = state._replace(drift=_drift(state.s, step_size, settings.truncation))
        state, accept = _step(energy, state, step_size, settings.truncation, generator)
        log_step = log_step + 4 * t**-0.6 * (accept.double().mean() - settings.target_acceptance)
    return state.x, log_step.exp()


def _step(
    energy: Energy, state: State, step_size: float | Tensor, truncation: float, generator: Generator
) -> tuple[State, Tensor]:
    """One proposal for every chain: the new state, and which chains moved."""
    x = state.x
    noise = normal(x, generator)
    proposal = _state(energy, x + state.drift + _root(step_size) * noise, step_size, truncation)
    back = (x - proposal.x - proposal.drift).flatten(1).square().sum(1) / (2 * step_size)
    log_ratio = state.e - proposal.e - back + 0.5 * noise.flatten(1).square().sum(1)
    accept = accepted(log_ratio, x.dtype, generator)
    return State(*moved(accept, proposal, state)), accept


def _state(energy: Energy, x: Tensor, step_size: float | Tensor, truncation: float) -> State:
    e, s = energy_and_score(energy, x)
    return State(x, e, s, _drift(s, step_size, truncation))


def _drift(s: Tensor, step_size: float | Tensor, truncation: float) -> Tensor:
    """½ηs, no longer than truncation · √η."""
    drift = 0.5 * step_size * s
    length = drift.flatten(1).norm(dim=1).reshape(-1, *[1] * (s.dim() - 1))
    return drift * (truncation * _root(step_size) / length.clamp_min(1e-30)).clamp_max(1.0)


def _root(step_size: float | Tensor) -> float | Tensor:
    return step_size.sqrt() if isinstance(step_size, Tensor) else math.sqrt(step_size)
