"""Annealing of binary units: from independent coins to a Boltzmann machine, by the machine's own Gibbs sweeps.

Between the base p₀(v) ∝ exp(aᵀv), a the logit of the data's means, and the machine lie

    log f_β(v) = (1 − β)(aᵀv − log Z₀) − F_β(v),     F_β(v) = −log Σ_h exp(−βE(v, h)),

with log Z₀ = Σ log(1 + e^a) − F₀, F₀ being the constant that F_β is at β = 0: so f₀ is a distribution and f₁ = exp(−F).
The hidden units are summed out of all weights (Salakhutdinov & Murray 2008). A transition is a sweep of the machine in
the field (1 − β)a. It leaves f_β in place and can be run backwards: Gibbs sweeps of two layers are reversible in v; the
units of a layer without hidden ones are taken in order on the way there, and so in the same order on the way back,
which is a transition that leaves f_β in place too, and that is all that the weights need (Neal 2001, sec. 2).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from ebmbench.core.binary import draw_units, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import fixed
from ebmbench.metrics.common.annealing_base import ACCEPTANCE

NUDGE = 1e-4  # of β, for a slope


class Coins:
    """Independent units that are 1 with probability σ(logits); logits are flat."""

    def __init__(self, shape: Sequence[int], logits: Tensor) -> None:
        self.shape, self.logits = list(shape), logits.double()

    @classmethod
    def of(cls, facts: Facts) -> "Coins":
        """With the data's means, kept a hundredth away from 0 and 1: units that never change may in the model."""
        means = torch.tensor(facts.mean, dtype=torch.float64).clamp(0.01, 0.99)
        return cls(facts.shape, means.logit())

    def __str__(self) -> str:
        """For protocols."""
        return "independent units with the data's means"

    def draw(self, count: int, generator: Generator) -> Tensor:
        """Exact samples, `(count, d)`."""
        return draw_units(self.logits.sigmoid().expand(count, -1), generator)

    def coordinates(self, x: Tensor) -> Tensor:
        """Events as rows."""
        return x.double().flatten(1)

    def log_prob(self, y: Tensor) -> Tensor:
        """log p₀, `(B,)`."""
        return y @ self.logits - log_one_plus_exp(self.logits).sum()


class BinaryState(NamedTuple):
    """Where chains are: rows of units, their free energy, and log p₀."""

    y: Tensor
    e: Tensor
    log_base: Tensor


class BinaryPath:
    """The distributions f_β between coins and a machine."""

    def __init__(self, machine: Any, base: Coins) -> None:
        self.machine, self.base = fixed(machine), base
        self.constant = float(self._free_energy(torch.zeros(1, math.prod(base.shape), dtype=torch.float64), 0.0))

    def _free_energy(self, y: Tensor, beta: float) -> Tensor:
        value: Tensor = self.machine.free_energy(y.reshape(-1, *self.base.shape), beta)  # type: ignore[attr-defined]
        return value

    def at(self, y: Tensor) -> BinaryState:
        """What is known at y."""
        return BinaryState(y, self._free_energy(y, 1.0), self.base.log_prob(y))

    def log_density(self, state: BinaryState, beta: float) -> Tensor:
        """log f_β, `(B,)`."""
        return (1 - beta) * (state.log_base + self.constant) - self._free_energy(state.y, beta)

    def increment(self, state: BinaryState, start: float, end: float) -> Tensor:
        """log f at β = `end` over f at β = `start`, `(B,)`."""
        return self.log_density(state, end) - self.log_density(state, start)

    def slope(self, state: BinaryState, beta: float) -> Tensor:
        """d log f_β/dβ, `(B,)`."""
        nudged = beta - NUDGE if beta > 0.5 else beta + NUDGE
        return self.increment(state, beta, nudged) / (nudged - beta)

    def transition(
        self, state: BinaryState, beta: float, step_size: float, generator: Generator
    ) -> tuple[BinaryState, Tensor]:
        """One sweep, which is never refused and has no step size; `ACCEPTANCE` leaves that as it is."""
        field = (1 - beta) * self.base.logits
        events = state.y.reshape(-1, *self.base.shape)
        moved = self.machine.gibbs(events, generator, beta, field).flatten(1)  # type: ignore[attr-defined]
        return self.at(moved), torch.full((len(moved),), ACCEPTANCE, dtype=torch.float64)
