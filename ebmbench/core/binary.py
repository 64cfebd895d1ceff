"""Units in {0, 1}: all their states, draws of them, and what a Boltzmann machine offers beside its energy.

A *machine* is an energy that can be sampled by Gibbs sweeps. It has

- `gibbs(x, generator, beta, field)`: events after one sweep that leaves Σ_h exp(fieldᵀx − βE(x, h)) in place, h its
  hidden units; the field is 0 but for annealing;
- `free_energy(x, beta)`: −log Σ_h exp(−βE(x, h)), `(B,)`; at β = 1 the energy itself;
- `log_partition()`: log Z by enumeration in float64, or None if it has too many units for that;
- `sweep_passes`: what a sweep costs, in passes of an event through its weights.

β is a number or a column `(B, 1)`, one for each event.
"""

from typing import Any, Protocol

import torch
from torch import Generator, Tensor
from torch.nn.functional import softplus

from ebmbench.core.energy import Energy
from ebmbench.core.streams import uniform

FEWEST_VISIBLE = 20  # units of an energy whose 2^20 states are enumerated
FEWEST_HIDDEN = 24  # units of a layer whose states are enumerated with the other layer summed out
ROWS = 2**13  # states at a time


class Machine(Protocol):
    """What Gibbs sampling, tempering and exact likelihoods ask of an energy."""

    sweep_passes: int

    def __call__(self, x: Tensor, /) -> Tensor:
        """The energy `(B, *event) -> (B,)`."""

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0, field: Tensor | float = 0.0) -> Tensor:
        """One sweep."""

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """The energy of the visible units at inverse temperature β."""

    def log_partition(self) -> float | None:
        """log Z, if it can be enumerated."""


def offers_gibbs(energy: Energy | type) -> bool:
    """Whether an energy (or the class of a model) is a machine."""
    return hasattr(getattr(energy, "network", energy), "gibbs")


def draw_units(probability: Tensor, generator: Generator) -> Tensor:
    """Independent units that are 1 with these probabilities, of their type."""
    return (uniform(probability, generator) < probability).to(probability.dtype)


def states(units: int, start: int = 0, stop: int | None = None) -> Tensor:
    """States `start` to `stop` of so many units, by default all, `(N, units)` in float64; unit 0 is the lowest bit."""
    index = torch.arange(start, 2**units if stop is None else min(stop, 2**units))
    return (index[:, None] >> torch.arange(units) & 1).double()


def index_of(x: Tensor) -> Tensor:
    """The numbers of states `(B, *event)`, `(B,)`: the inverse of `states`."""
    bits = x.flatten(1).long()
    return (bits << torch.arange(bits.shape[1])).sum(1)


def enumerate_log_z(minus_energy: Any, units: int) -> float:
    """log Σ exp(minus_energy(state)) over all 2^units states, a few thousand at a time."""
    parts = [minus_energy(states(units, start, start + ROWS)).logsumexp(0) for start in range(0, 2**units, ROWS)]
    return float(torch.stack(parts).logsumexp(0))


def log_one_plus_exp(a: Tensor) -> Tensor:
    """log(1 + eᵃ) for each entry; torch's own limit of 20, beyond which it is a, would cost 2·10⁻⁹."""
    return softplus(a, threshold=50.0)
