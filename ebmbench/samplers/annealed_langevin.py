"""Annealed Langevin dynamics: Langevin at one noise level after the other, from the largest to the smallest.

For the levels σ₁ > … > σ_L, a geometric sequence, `steps` steps each:

    x ← x + ½α_i·s(x, σ_i) + √α_i·z,   α_i = ε·σ_i²/σ_L²,   z ~ N(0, I);

with `denoise` a last x ← x + σ_L²·s(x, σ_L), the mean of the clean event given the noisy one (Tweedie's formula).
The paper's published ε = 2e-5 stands before s without the ½: here it would be 4e-5.

A noise-conditional network gives its levels by `given(sigma)`. For an ordinary energy a level is a temperature: E ·
(σ_L/σ_i)², so T_i = σ_i²/σ_L², hot first and ending at the energy itself. Such an energy carries no noise that could
be taken away, so `denoise` is refused. Diagnostics: the mean norm of the levels' scores along the chain and at its
end.
"""

import math
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, Tempered, conditional, score
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import Chain, SteppingSettings
from ebmbench.samplers.langevin import langevin

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
EXAMPLE = {"steps": 5, "step_size": 0.01, "levels": 3, "sigma_max": 1.0, "sigma_min": 0.3}
STATIONARY = {"steps": 200, "step_size": 0.04, "levels": 3, "sigma_max": 2.0, "sigma_min": 1.0}
NO_LEVELS = "denoise: found true for an energy without noise levels, allowed: false"


class Settings(SteppingSettings):
    """`{kind: annealed_langevin, …}` wherever `params.yaml` names a sampler; `steps` is per level."""

    kind: Literal["annealed_langevin"] = "annealed_langevin"
    needs_energy: ClassVar[bool] = False
    steps: int = Field(20, ge=1, description="Langevin steps at each level")
    step_size: float = Field(0.0005, gt=0, description="ε, the step at the last level, in units of the data's variance")
    sigma_max: float = Field(2.0, gt=0, description="σ₁ in units of the data's deviation")
    sigma_min: float = Field(0.05, gt=0, validate_default=True, description="σ_L in the same units")
    levels: int = Field(10, ge=1, description="L; a single level is sigma_min")
    denoise: bool = Field(False, description="a last step to the mean of the clean event")

    @field_validator("sigma_min")
    @classmethod
    def _below_the_largest(cls, sigma_min: float, info: ValidationInfo) -> float:
        if sigma_min > info.data.get("sigma_max", math.inf):
            raise ValueError(f"at most sigma_max, which is {info.data['sigma_max']}")
        return sigma_min

    def fit_to(self, facts: Facts) -> "Settings":
        """The same settings in the data's own units."""
        sigmas = {"sigma_max": self.sigma_max * facts.unit, "sigma_min": self.sigma_min * facts.unit}
        return self.model_copy(update={"step_size": self.step_size * facts.unit**2, **sigmas})

    @property
    def alike(self) -> bool:
        """A step depends on its level."""
        return False

    @property
    def total_steps(self) -> int:
        """Steps at all levels."""
        return self.steps * self.levels

    def parts(self, most: int) -> list["Settings"]:
        """Runs over consecutive levels; the noise is taken away at the end of the last only."""
        sigmas = self.ladder().tolist()
        cuts = [round(i * self.levels / min(most, self.levels)) for i in range(min(most, self.levels) + 1)]
        return [self._part(sigmas[a:b], last=b == self.levels) for a, b in zip(cuts, cuts[1:], strict=False)]

    def _part(self, sigmas: list[float], last: bool) -> "Settings":
        # α_i = ε·σ_i²/σ_L² is to stay what it is although the part ends at another σ.
        step_size = self.step_size * (sigmas[-1] / self.sigma_min) ** 2
        update = {"sigma_max": sigmas[0], "sigma_min": sigmas[-1], "levels": len(sigmas), "step_size": step_size}
        return self.model_copy(update={**update, "denoise": self.denoise and last})

    def ladder(self) -> Tensor:
        """σ₁ … σ_L in float64, largest first."""
        return ladder(self.sigma_max, self.sigma_min, self.levels)

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """An ordinary energy carries no noise that could be taken away."""
        return NO_LEVELS if self.denoise and not levels else None

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        if self.denoise and not conditional(energy):
            raise UserError(f"sampler.{NO_LEVELS}")
        sigmas = self.ladder()
        chain = annealed_langevin(energy, x, sigmas, self.steps, self.step_size, generator)
        return Chain(denoise(energy, chain.x, sigmas[-1]), chain.diagnostics) if self.denoise else chain


def ladder(sigma_max: float, sigma_min: float, levels: int) -> Tensor:
    """A geometric sequence that ends at `sigma_min`, in float64."""
    exponents = torch.arange(levels - 1, -1, -1, dtype=torch.float64) / max(levels - 1, 1)
    return sigma_min * (sigma_max / sigma_min) ** exponents


def annealed_langevin(
    energy: Energy, x: Tensor, sigmas: Tensor, steps: int, step_size: float, generator: Generator
) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` steps at each of `sigmas`, largest first."""
    diagnostics: dict[str, Tensor] = {}
    total = torch.zeros(())
    for sigma, ratio in zip(sigmas, (sigmas / sigmas[-1]).tolist(), strict=True):
        level = at_level(energy, x, sigma) if conditional(energy) else Tempered(energy, ratio**-2)
        alpha = step_size * ratio**2
        chain = langevin(level, x, steps, alpha, math.sqrt(alpha), generator)
        x, diagnostics = chain.x, chain.diagnostics
        total = total + diagnostics["gradient_norm"]
    return Chain(x, {**diagnostics, "gradient_norm": total / len(sigmas)})


def denoise(energy: Energy, x: Tensor, sigma: Tensor) -> Tensor:
    """x + σ²·s(x, σ)."""
    return (x + sigma.square() * score(at_level(energy, x, sigma), x)).detach()


def at_level(energy: Any, x: Tensor, sigma: Tensor) -> Any:
    """A noise-conditional energy (or score) at one σ for all events."""
    return energy.given(sigma.to(x).expand(len(x)))
