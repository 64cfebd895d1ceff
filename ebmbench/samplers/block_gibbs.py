"""Block Gibbs sampling of a Boltzmann machine: all hidden units given the visible ones, then the other way round.

The units of a layer are independent given the other layer, so one step draws a whole layer at once. Each half leaves
the joint distribution in place, hence so does the step. Which blocks there are is the machine's own business
(`gibbs(x, generator)` of `rbm`, `boltzmann` and so on); an energy that offers no such sweep is refused. Diagnostics:
the mean share of units that changed in a step.
"""

from typing import Literal

import torch
from torch import Generator, Tensor

from ebmbench.core.binary import offers_gibbs
from ebmbench.core.energy import Energy, complete, fixed
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import NO_SWEEPS, Chain, MachineSettings

PAPER = (
    "Geman & Geman, Stochastic Relaxation, Gibbs Distributions, and the Bayesian Restoration of Images, TPAMI 6, 1984"
)
YEAR = 1984
LINK = "https://doi.org/10.1109/TPAMI.1984.4767596"
EXAMPLE = {"steps": 5}
EXAMPLE_STATES = "binary"
STATIONARY = {"steps": 10}


class Settings(MachineSettings):
    """`{kind: block_gibbs, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["block_gibbs"] = "block_gibbs"

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        if not offers_gibbs(energy):
            raise UserError(f"sampler.kind: found {self.kind} for {NO_SWEEPS}")
        return block_gibbs(energy, x, self.steps, generator)


@torch.no_grad()
def block_gibbs(energy: Energy, x: Tensor, steps: int, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` sweeps."""
    machine, flips = fixed(energy), torch.zeros(())
    x = complete(energy, x, lambda: generator)
    for _ in range(steps):
        moved = machine.gibbs(x, generator)  # type: ignore[attr-defined]
        x, flips = moved, flips + (moved != x).float().mean()
    return Chain(x, {"flips": flips / steps})
