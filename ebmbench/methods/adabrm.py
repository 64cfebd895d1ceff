"""Self-adapting Bregman ratio matching: match the ratio of model to frozen copy under any convex Ψ.

With the copy E_m, its samples x⁻, log g(x) = (E_m(x) − E(x))/T (`common/adaptive_noise.py`), and S₀ and S₁ of Ψ
(`common/bregman.py`):

    L = mean S₀(g(x⁻)) − mean S₁(g(x⁺))   (+ α · mean(E(x⁺)² + E(x⁻)²), off by default).

`logistic` is adance. Since S₀′(u) = u·S₁′(u), the gradient at g = 1 (always so when 𝒦 = 1) is Ψ″(1) times that of
maximum likelihood, whatever Ψ. Xu (2022), chapter 4 (the thesis names logistic, kl and squared, and trains none). Far
from the copy a single event can outweigh the rest: watch max |log g| (neyman, with 1/g², was given up at its third step
in the one run tried, two_moons at 𝒦 = 5). kl weighs noise by g, which single precision holds up to log g = 88, and the
first steps at the default rate of 0.05 go beyond: of 24 runs (the four toys, six seeds each, 𝒦 = 5) 6 were given up
within five steps, with α = 0.01 8, but none at a rate of 0.005 or at 𝒦 = 1, and none of logistic or brier. Differs from
the thesis: adance's penalty α, buffer, rejuvenation and averaged weights.
"""

from pydantic import Field
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.methods.common.adaptive_noise import AdaptiveNoise, AdaptiveNoiseSettings, Ratio, log_ratio
from ebmbench.methods.common.bregman import DIVERGENCES, Divergence, Name

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models (chapter 4), Tsinghua thesis, 2022"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
REMARK = "Its training chains start at noise and go on in a persistent buffer."
NOISE = "a frozen copy of the model"
EXAMPLES = [{"divergence": "brier", "interval": 1}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0}


def bregman_ratio_matching(ratio: Ratio, divergence: Divergence, penalty: float = 0.0) -> Tensor:
    """The loss for log g and E on data and on negatives."""
    loss = divergence.loss(ratio.on_data, ratio.on_negatives)
    if penalty:
        loss = loss + penalty * (ratio.energy_of_data.square().mean() + ratio.energy_of_negatives.square().mean())
    return loss


class Settings(AdaptiveNoiseSettings):
    """`params.yaml: methods.adabrm`."""

    divergence: Name = Field("kl", description="Ψ by name; logistic is adance")
    energy_penalty: float = Field(0.0, ge=0, description="α; at 𝒦 = 1 Ψ″(1) of mle's does what mle's does")


class Method(AdaptiveNoise):
    """Adaptive noise with the loss of a convex Ψ."""

    settings: Settings

    def contrast(
        self, energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the chosen Ψ."""
        ratio = log_ratio(energy, frozen, x, negatives, self.temperature)
        divergence = DIVERGENCES[self.settings.divergence]
        return bregman_ratio_matching(ratio, divergence, self.settings.energy_penalty), ratio.diagnostics()
