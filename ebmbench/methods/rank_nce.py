"""Rank-based noise-contrastive estimation: of one datum and K noise events, tell which is the datum.

With y₁ … y_K from the noise density p_n for each datum x, and r(u) = −E(u) − log p_n(u):

    L = −mean log [exp r(x) / (exp r(x) + Σₖ exp r(yₖ))],

a softmax over the *logarithm* of the ratio of model to noise. A constant in E cancels, so no normaliser is learned, and
the optimum has the data's density for any K, whatever its normaliser; the more noise events, the nearer the gradient is
to that of maximum likelihood with importance sampling. Jozefowicz et al. (2016); Ma & Collins (2018), the ranking
objective without a context; Xu (2022) 2.14–2.16 (who prints the ratio itself in the softmax). Differs from the papers:
which noise (`common/fixed_noise.py`).
"""

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.methods.common.fixed_noise import FixedNoise, FixedNoiseSettings, LogDensity, log_ratio

PAPER = (
    "Ma & Collins, Noise Contrastive Estimation and Negative Sampling for Conditional Models: Consistency and "
    "Statistical Efficiency, EMNLP 2018"
)
YEAR = 2018
LINK = "https://arxiv.org/abs/1809.01812"
NOISE = "fixed, fitted to the data"
EXAMPLES = [{"noise": "uniform", "ratio": 3}]
RECOVERY = {"ratio": 4}
RECOVERY_STEPS = 900  # in ten dimensions a classifier is soon sure, and learns slowly


def rank_noise_contrastive(energy: Energy, x: Tensor, noise: Tensor, log_noise: LogDensity) -> Tensor:
    """The loss for data `(B, *event)` and noise `(KB, *event)`; noise i is ranked with datum i mod B."""
    on_data, on_noise = log_ratio(energy, 0.0, x, noise, log_noise)
    ranked = torch.cat([on_data[None], on_noise.reshape(-1, len(x))])
    return -ranked.log_softmax(0)[0].mean()


class Settings(FixedNoiseSettings):
    """`params.yaml: methods.rank_nce`."""

    ratio: int = Field(1, ge=1, description="K, noise events that each datum is ranked with")


class Method(FixedNoise):
    """Fixed noise with the loss of a softmax."""

    def contrast(self, energy: Energy, x: Tensor, noise: Tensor) -> Tensor:
        """The softmax loss."""
        return rank_noise_contrastive(energy, x, noise, self.log_noise)
