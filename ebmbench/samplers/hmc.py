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

from ebmbench.core.energy import Energy, energy_and_score, fixed
from ebmbench.core.streams import draw_ahead, normal_on_cpu, uniform_per_event
from ebmbench.samplers.common.chain import Chain, GradientNorms, SteppingSettings
from ebmbench.samplers.common.metropolis import AcceptanceRate, select

PAPER = "Duane, Kennedy, Pendleton & Roweth, Hybrid Monte Carlo, Physics Letters B 195(2), 1987"
YEAR = 1987
LINK = "https://doi.org/10.1016/0370-2693%2887%2991197-X"
EXAMPLE = {"steps": 5, "step_size": 0.1, "leapfrog": 2}
STATIONARY = {"steps": 20, "step_size": 0.3}


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


@torch.no_grad()
def hmc(energy: Energy, x: Tensor, steps: int, epsilon: float, length: int, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals of `length` leapfrog steps."""
    energy, norms, rate = fixed(energy), GradientNorms(x, steps), AcceptanceRate(x)
    state = State(x.detach(), *energy_and_score(energy, x))
    for momentum, share in draw_ahead(x, steps, lambda: (normal_on_cpu(x, generator), uniform_per_event(x, generator))):
        proposal, end = leapfrog(energy, state, momentum, epsilon, length)
        accept = share.log() < state.e + _kinetic(momentum) - proposal.e - _kinetic(end)
        state = State(*select(accept, proposal, state))
        rate.add(accept)
        norms.add(state.s)
    return Chain(state.x, {**rate.diagnostics(), **norms.diagnostics()})


def leapfrog(energy: Energy, state: State, momentum: Tensor, epsilon: float, length: int) -> tuple[State, Tensor]:
    """Position and momentum after `length` steps; what is given is left alone.

    The half-steps of the momentum between two positions are taken as one.
    """
    momentum = torch.add(momentum, state.s, alpha=0.5 * epsilon)
    for left in range(length - 1, -1, -1):
        x = torch.add(state.x, momentum, alpha=epsilon)
        state = State(x, *energy_and_score(energy, x))
        momentum.add_(state.s, alpha=epsilon if left else 0.5 * epsilon)
    return state, momentum


def _kinetic(momentum: Tensor) -> Tensor:
    return 0.5 * momentum.flatten(1).square().sum(1)
