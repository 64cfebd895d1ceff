"""Denoising score matching: the best guess of the noise in a noisy datum is the score of the noisy density.

With x̃ = x + σε, ε ~ N(0, I), and s = −∇E:

    L = mean ½‖s(x̃) + ε/σ‖².

It equals explicit score matching to the density of x̃ plus a constant, so what is learned is the data *smoothed
by σ*; evaluation compares with both. The score is that of an energy, or a vector that a network gives (`model:
score_mlp`, `unet`), at its noise level σ: then there is no density, and what needs one is not judged. Vincent (2011);
Amini 5.1; Xu (2022) A.1. Differs from the paper: the score is measured in the data's unit, L × unit², so that the
length of the gradient, which is clipped, does not depend on the unit.
"""

from typing import Any

from pydantic import Field
from torch import Tensor

from ebmbench.core import method
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal
from ebmbench.samplers.common.choice import Sampler

PAPER = "Vincent, A Connection Between Score Matching and Denoising Autoencoders, Neural Computation 23(7), 2011"
YEAR = 2011
LINK = "https://doi.org/10.1162/NECO_a_00142"
REMARK = (
    "It learns the density of the data *smoothed* by noise of deviation σ, which is what is judged and sampled: even a "
    "perfect fit has a KL above zero; `kl_target` compares with the smoothed data."
)
EXAMPLES = [{"model": "score_mlp"}]
RECOVERY = {"sigma": 0.3}


def denoising_score_matching(energy: Energy, x: Tensor, noise: Tensor, sigma: float) -> Tensor:
    """The loss for data and standard normal noise, both `(B, *event)`; `sigma` in the data's units."""
    s = score(energy, x + sigma * noise, create_graph=True)
    return 0.5 * (s + noise / sigma).flatten(1).square().sum(1).mean()


class Settings(method.Settings):
    """`params.yaml: methods.dsm`."""

    learning_rate: float = Field(2e-3, gt=0)
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    sigma: float = Field(0.05, gt=0, description="noise deviation in units of the data's scale")


class Method(method.Method):
    """Has no state of its own."""

    settings: Settings
    no_binary = method.NO_SCORE

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh noise."""
        unit, noise = self.facts.unit, normal(x, draw("noise"))
        network = self.judged(self.settings, energy, self.facts)
        return unit**2 * denoising_score_matching(network, x, noise, self.settings.sigma * unit)

    @classmethod
    def level(cls, settings: Settings, facts: Facts) -> float:
        """σ itself."""
        return settings.sigma * facts.unit

    @classmethod
    def target(cls, settings: Settings, density: Any, scale: float) -> Any:
        """The data's density smoothed by σ."""
        return density.smoothed(settings.sigma * scale)
