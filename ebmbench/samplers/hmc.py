"""Hamiltonian Monte Carlo: a proposal far away, reached by following the energy's own dynamics.

A momentum p ~ N(0, I) is drawn, (x, p) moves by `leapfrog` steps of length ε = √η,

    p ← p + ½ε·s(x),   x ← x + ε·p,   p ← p + ½ε·s(x),

and the end is accepted with probability min(1, exp(H(x, p) − H(x′, p′))), H = E(x) + ½‖p‖². Leapfrog keeps
volume and can be run backwards, so no other term is needed; it errs in H by O(ε²), so most proposals are accepted.
With one leapfrog step it is MALA without truncation. The momentum's first half-step is ε/2 (one of our sources prints
ε²/2). Diagnostics: acceptance rate, and the mean gradient norm along the chain and at its end.
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

PAPER = "Duane, Kennedy, Pendleton & Roweth, Hybrid Monte Carlo, Physics Letters B 195(2), 1987"
YEAR = 1987


class Settings(SteppingSettings):
    """`{kind: hmc, …}` wherever `params.yaml` names a sampler; a step is one proposal."""

    kind: Literal["hmc"] = "hmc"
    leapfrog: int = Field(5, ge=1, description="leapfrog steps of length √η in each proposal")

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        return hmc(energy, x, self.steps, math.sqrt(self.step_size), self.leapfrog, generator)


class State(NamedTuple):
    """Where chains are, and what is known there."""

    x: Tensor
    e: Tensor
    s: Tensor


def hmc(energy: Energy, x: Tensor, steps: int, epsilon: float, length: int, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals of `length` leapfrog steps."""
    state = State(x, *energy_and_score(energy, x))
    moves = total = torch.zeros(())
    for _ in range(steps):
        momentum = normal(x, generator)
        proposal, momentum_new = leapfrog(energy, state, momentum, epsilon, length)
        log_ratio = state.e + _kinetic(momentum) - proposal.e - _kinetic(momentum_new)
        accept = accepted(log_ratio, x.dtype, generator)
        state = State(*moved(accept, proposal, state))
        moves = moves + accept.float().mean()
        total = total + state.s.flatten(1).norm(dim=1).mean()
    last = state.s.flatten(1).norm(dim=1).mean()
    diagnostics = {"acceptance": moves / steps, "gradient_norm": total / steps, "last_gradient_norm": last}
    return Chain(state.x.detach(), diagnostics)


def leapfrog(energy: Energy, state: State, momentum: Tensor, epsilon: float, length: int) -> tuple[State, Tensor]:
    """Position and momentum after `length` steps."""
    for _ in range(length):
        momentum = momentum + 0.5 * epsilon * state.s
        x = state.x + epsilon * momentum
        state = State(x, *energy_and_score(energy, x))
        momentum = momentum + 0.5 * epsilon * state.s
    return state, momentum


def _kinetic(momentum: Tensor) -> Tensor:
    return 0.5 * momentum.flatten(1).square().sum(1)
