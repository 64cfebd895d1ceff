"""Bregman ratio matching: match the ratio of model to fixed noise to that of data to noise, under any convex Ψ.

With log p_θ(x) = −E(x) − c, where c is learned, noise y of density p_n, g = p_θ/p_n, and S₀ and S₁ of Ψ
(`common/bregman.py`):

    L = mean S₀(g(y)) − mean S₁(g(x)).

The optimum has p_θ normalised and equal to the data's density, whatever Ψ. `logistic` is nce with ν = 1. `kl` is
maximum likelihood: its best c is the log of the importance-sampled normaliser, and with that c
L = mean E(x) + c + const. Here ν only makes the mean over noise sharper. Gutmann & Hirayama (2011); Xu (2022) 4.2.
Differs from the papers: which noise, and where c starts (`common/fixed_noise.py`).
"""

from pydantic import Field
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.methods.common.bregman import DIVERGENCES, Divergence, Name
from ebmbench.methods.common.fixed_noise import LogDensity, NormalisedNoise, NormalisedNoiseSettings, log_ratio

PAPER = (
    "Gutmann & Hirayama, Bregman divergence as general framework to estimate unnormalized statistical models, UAI 2011"
)
YEAR = 2011
LINK = "https://arxiv.org/abs/1202.3727"
NOISE = "fixed, fitted to the data"
LEARNS_Z = True
EXAMPLES = [{"divergence": "kl", "ratio": 3}]
RECOVERY = {"ratio": 4}
RECOVERY_STEPS = 900  # in ten dimensions a classifier is soon sure, and learns slowly


def fixed_ratio_matching(
    energy: Energy, c: Tensor, x: Tensor, noise: Tensor, log_noise: LogDensity, divergence: Divergence
) -> Tensor:
    """The loss for data `(B, *event)` and noise `(νB, *event)` under the noise's log-density."""
    return divergence.loss(*log_ratio(energy, c, x, noise, log_noise))


class Settings(NormalisedNoiseSettings):
    """`params.yaml: methods.brm`."""

    divergence: Name = Field("brier", description="Ψ by name; logistic is nce with ν = 1")


class Method(NormalisedNoise):
    """Fixed noise with the loss of a convex Ψ."""

    settings: Settings

    def contrast(self, energy: Energy, x: Tensor, noise: Tensor) -> Tensor:
        """The loss of the chosen Ψ."""
        return fixed_ratio_matching(energy, self.c, x, noise, self.log_noise, DIVERGENCES[self.settings.divergence])
