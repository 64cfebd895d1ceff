"""Langevin dynamics with momentum: steps remember where they came from, which carries chains along narrow valleys.

With friction α in (0, 1] and ε ~ N(0, I):

    v ← (1 − α)·v + ½η·s(x) + √(αη)·ε,   x ← x + v.

α = 1 is unadjusted Langevin with step size η; without noise it would be gradient descent with momentum 1 − α. Its
stationary density tends to exp(−E)/Z as η → 0: of a Gaussian of variance λ it has λ/(1 − η/4λ(2 − α)), so friction
below 1 also has the smaller bias. A run starts with momentum from its stationary law, N(0, η/(2 − α)), since chains
keep only x between two runs. Chen, Fox & Guestrin (2014), equation 15, with their η half of ours and no noise in the
gradient; Xu (2022), chapter 6, proposes it. Diagnostics: the mean gradient norm along the chain, and at its end.
"""

import math
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, fixed, score
from ebmbench.core.streams import draw_ahead, normal, normal_on_cpu
from ebmbench.samplers.common.chain import Chain, GradientNorms, SteppingSettings

PAPER = "Chen, Fox & Guestrin, Stochastic Gradient Hamiltonian Monte Carlo, ICML 2014"
YEAR = 2014
LINK = "https://proceedings.mlr.press/v32/cheni14.html"
EXAMPLE = {"steps": 5, "step_size": 0.1}
# The bias of the variance is of order η/8, so the step is small.
STATIONARY = {"steps": 50, "step_size": 0.02}


class Settings(SteppingSettings):
    """`{kind: momentum, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["momentum"] = "momentum"
    needs_energy: ClassVar[bool] = False
    friction: float = Field(0.1, gt=0, le=1, description="α, the share of momentum that a step loses; 1 is langevin")

    @property
    def alike(self) -> bool:
        """Momentum lives on from step to step, and is not handed on where a run is cut."""
        return False

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        v = math.sqrt(self.step_size / (2 - self.friction)) * normal(x, generator)
        return momentum_langevin(energy, x, v, self.steps, self.step_size, self.friction, generator)


@torch.no_grad()
def momentum_langevin(
    energy: Energy, x: Tensor, v: Tensor, steps: int, step_size: float, friction: float, generator: Generator
) -> Chain:
    """Move all chains from `x` with momentum `v` (both are left alone) by `steps` steps."""
    energy, x, v, norms = fixed(energy), x.detach().clone(), v.clone(), GradientNorms(x, steps)
    for (noise,) in draw_ahead(x, steps, lambda: (normal_on_cpu(x, generator),)):
        s = score(energy, x)
        norms.add(s)
        v.mul_(1 - friction).add_(s, alpha=0.5 * step_size).add_(noise, alpha=math.sqrt(friction * step_size))
        x.add_(v)
    return Chain(x, norms.diagnostics())
