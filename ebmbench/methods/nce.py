"""Noise-contrastive estimation: tell data from noise of a known density, and the classifier holds the model.

With log p_θ(x) = −E(x) − c, where c is learned, ν noise events y per datum x, and
G(u) = log p_θ(u) − log p_n(u) − log ν:

    L = mean softplus(−G(x)) + ν · mean softplus(G(y)).

The optimum has p_θ normalised, so c tends to log Z. Gutmann & Hyvärinen (2010); Xu (2022) 2.2.3.3; Jin 4.1. Differs
from the papers: which noise, and where c starts (`common/fixed_noise.py`). Both take the mean over data and noise
together, which is this loss over 1 + ν (for ν = 1 half of it), and Xu's v is data per noise event, 1/ν.
"""

import math

from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.core.energy import Energy
from ebmbench.methods.common.fixed_noise import LogDensity, NormalisedNoise, NormalisedNoiseSettings, log_ratio

PAPER = "Gutmann & Hyvärinen, Noise-contrastive estimation, AISTATS 2010"
YEAR = 2010
LINK = "https://proceedings.mlr.press/v9/gutmann10a.html"
NOISE = "fixed, fitted to the data"
LEARNS_Z = True
EXAMPLES = [{"noise": "uniform", "ratio": 3}]
RECOVERY = {"ratio": 4}
RECOVERY_STEPS = 900  # in ten dimensions a classifier is soon sure, and learns slowly


def noise_contrastive(energy: Energy, c: Tensor, x: Tensor, noise: Tensor, log_noise: LogDensity) -> Tensor:
    """The loss for data `(B, *event)` and noise `(νB, *event)` under the noise's log-density."""
    ratio = len(noise) / len(x)
    on_data, on_noise = (log_g - math.log(ratio) for log_g in log_ratio(energy, c, x, noise, log_noise))
    return softplus(-on_data).mean() + ratio * softplus(on_noise).mean()


class Settings(NormalisedNoiseSettings):
    """`params.yaml: methods.nce`."""


class Method(NormalisedNoise):
    """Fixed noise with the logistic loss."""

    def contrast(self, energy: Energy, x: Tensor, noise: Tensor) -> Tensor:
        """The logistic loss."""
        return noise_contrastive(energy, self.c, x, noise, self.log_noise)
