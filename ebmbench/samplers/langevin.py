"""Unadjusted Langevin dynamics: x ← x − ½·η·∇E(x) + τ·ε, with ε ~ N(0, I).

τ = √η is the valid sampler: its stationary density tends to exp(−E)/Z as η → 0. Any other τ samples at
temperature τ²/η; a tiny τ is the short-run sampler of image EBMs (Nijkamp et al. 2019). Image EBMs are also trained
with each coordinate of the gradient clipped (`clip`) and with chains kept in the images' box (`box`): no longer a
sampler of exp(−E)/Z, whatever τ. Diagnostics: the mean gradient norm along the chain, and at its end.
"""

import math
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, fixed, score
from ebmbench.core.streams import draw_ahead, normal_on_cpu
from ebmbench.samplers.common.chain import Chain, GradientNorms, SteppingSettings

PAPER = "Welling & Teh, Bayesian Learning via Stochastic Gradient Langevin Dynamics, ICML 2011"
YEAR = 2011
LINK = "https://icml.cc/2011/papers/398_icmlpaper.pdf"
EXAMPLE = {"steps": 5, "step_size": 0.1}
# The bias of the variance is of order η/4, so the step is small.
STATIONARY = {"steps": 50, "step_size": 0.02}


class Settings(SteppingSettings):
    """`{kind: langevin, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["langevin"] = "langevin"
    needs_energy: ClassVar[bool] = False
    noise_std: float | None = Field(
        None, ge=0, description="τ in units of the data's deviation; null: √η, the valid sampler"
    )
    clip: float | None = Field(None, gt=0, description="largest size of a coordinate of ∇E; null: no limit")
    box: float | None = Field(None, gt=0, description="chains are kept in [−box, box]; null: nowhere")

    @property
    def temperature(self) -> float:
        """τ²/η."""
        return 1.0 if self.noise_std is None else self.noise_std**2 / self.step_size

    @property
    def steering(self) -> float:
        """steps·½η over √steps·τ."""
        noise = math.sqrt(self.step_size) if self.noise_std is None else self.noise_std
        return math.sqrt(self.steps) * 0.5 * self.step_size / noise if noise else math.inf

    def fit_to(self, facts: Facts) -> "Settings":
        """The same settings in the data's own units."""
        noise = None if self.noise_std is None else self.noise_std * facts.unit
        return self.model_copy(update={"step_size": self.step_size * facts.unit**2, "noise_std": noise})

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        noise_std = math.sqrt(self.step_size) if self.noise_std is None else self.noise_std
        return langevin(energy, x, self.steps, self.step_size, noise_std, generator, Limits(self.clip, self.box))


class Limits(NamedTuple):
    """What is done to gradients and chains beside Langevin's own step; nothing, unless asked for."""

    clip: float | None = None
    box: float | None = None


@torch.no_grad()
def langevin(
    energy: Energy,
    x: Tensor,
    steps: int,
    step_size: float,
    noise_std: float,
    generator: Generator,
    limits: Limits = Limits(),  # noqa: B008
) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` steps."""
    energy, x, norms = fixed(energy), x.detach().clone(), GradientNorms(x, steps)
    for (noise,) in draw_ahead(x, steps, lambda: (normal_on_cpu(x, generator),)):
        s = score(energy, x)
        norms.add(s)
        drift = s if limits.clip is None else s.clamp(-limits.clip, limits.clip)
        x.add_(drift, alpha=0.5 * step_size).add_(noise, alpha=noise_std)
        if limits.box is not None:
            x.clamp_(-limits.box, limits.box)
    return Chain(x, norms.diagnostics())
