"""Random-walk Metropolis: x′ = x + √η·ε, accepted with probability min(1, exp(E(x) − E(x′))).

The proposal is symmetric, so its density cancels; no gradient is asked of the energy. Diagnostics: acceptance rate.
"""

import math
from typing import Literal

import torch
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, fixed
from ebmbench.core.streams import normal
from ebmbench.samplers.common.chain import Chain, SteppingSettings
from ebmbench.samplers.common.metropolis import AcceptanceRate, draw_acceptance, select

PAPER = "Metropolis et al., Equation of State Calculations by Fast Computing Machines, J. Chem. Phys. 21(6), 1953"
YEAR = 1953
LINK = "https://doi.org/10.1063/1.1699114"
EXAMPLE = {"steps": 5, "step_size": 0.1}
STATIONARY = {"steps": 50, "step_size": 1.0}


class Settings(SteppingSettings):
    """`{kind: random_walk, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["random_walk"] = "random_walk"

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        return random_walk(energy, x, self.steps, math.sqrt(self.step_size), generator)


@torch.no_grad()
def random_walk(energy: Energy, x: Tensor, steps: int, noise_std: float, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals."""
    energy = fixed(energy)
    e = energy(x)
    rate = AcceptanceRate(x)
    for _ in range(steps):
        proposal = x + noise_std * normal(x, generator)
        e_new = energy(proposal)
        accept = draw_acceptance(e - e_new, x.dtype, generator)
        x, e = select(accept, (proposal, e_new), (x, e))
        rate.add(accept)
    return Chain(x, rate.diagnostics())
