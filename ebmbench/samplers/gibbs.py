"""Gibbs sampling of units in {−1, +1}, or in {0, 1} of binary data: each in turn is drawn given all others.

p(x_i = 1 | rest) = sigmoid(E(x with x_i = low) − E(x with x_i = 1)), for any energy on such states, with `low` −1 or 0.
One step is a sweep over all units in order. The energy of the present state is one of the two and is kept, so a unit
costs one evaluation: as many as there are units, where `block_gibbs` asks a Boltzmann machine for all of them at once.
Diagnostics: the mean share of units that changed in a sweep.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import uniform
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import Chain, SamplerSettings
from ebmbench.samplers.common.metropolis import select

PAPER = (
    "Geman & Geman, Stochastic Relaxation, Gibbs Distributions, and the Bayesian Restoration of Images, TPAMI 6, 1984"
)
YEAR = 1984
EXAMPLE = {"steps": 5}
EXAMPLE_STATES = "spins"
STATIONARY = {"steps": 10}
OTHER_STATES = "kind: found gibbs for states other than −1 and +1 (or 0 and 1), allowed: a sampler of real states"


class Settings(SamplerSettings):
    """`{kind: gibbs, …}` wherever `params.yaml` names a sampler; a step is a sweep."""

    kind: Literal["gibbs"] = "gibbs"
    low: float = Field(-1.0, ge=-1, le=0, description="the state that is not 1; on binary data 0 in any case")
    moves_binary: ClassVar[bool] = True

    def fit_to(self, facts: Facts) -> "Settings":
        """With the states of the data."""
        return self.model_copy(update={"low": 0.0}) if facts.binary else self

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """Noise is never in {−1, +1}, and of images only those of two grey values are."""
        if facts is not None and facts.binary:
            return None
        return OTHER_STATES if not at_data or (facts is not None and facts.levels not in (None, 2)) else None

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        if not bool(((x == 1) | (x == self.low)).all()):
            raise UserError(f"sampler.{OTHER_STATES}")
        return gibbs(energy, x, self.steps, generator, self.low)


@torch.no_grad()
def gibbs(energy: Energy, x: Tensor, steps: int, generator: Generator, low: float = -1.0) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` sweeps."""
    e = energy(x)
    units, flips = x.shape[1:].numel(), torch.zeros(())
    for _ in range(steps):
        for unit in range(units):
            other = flip_unit(x, unit, low)
            e_other = energy(other)
            present = x.flatten(1)[:, unit]
            on = uniform(present, generator) < conditional(present, e, e_other)
            flip = on != (present > 0)
            x, e = select(flip, (other, e_other), (x, e))
            flips = flips + flip.float().mean()
    return Chain(x, {"flips": flips / (steps * units)})


def flip_unit(x: Tensor, unit: int, low: float = -1.0) -> Tensor:
    """The states with one unit changed."""
    other = x.flatten(1).clone()
    other[:, unit] = 1 + low - other[:, unit]
    return other.reshape(x.shape)


def conditional(present: Tensor, e: Tensor, e_flipped: Tensor) -> Tensor:
    """p(x_i = 1 | rest), from the unit's present value, E there and E with the unit flipped."""
    return torch.sigmoid(torch.where(present > 0, 1.0, -1.0) * (e_flipped - e))
