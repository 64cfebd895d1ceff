"""Self-adapting noise-contrastive estimation: the noise is a frozen copy of the model itself, renewed now and then.

With the copy E_m, its samples x⁻ and log g(x) = (E_m(x) − E(x))/T (`common/adaptive_noise.py`):

    L = mean softplus(log g(x⁻)) + mean softplus(−log g(x⁺))   (+ α · mean(E(x⁺)² + E(x⁻)²), off by default).

No normaliser is learned: since log g has no constant, the optimum keeps Z_θ = Z_m. At E = E_m (always so when
𝒦 = 1) the gradient is half of maximum likelihood's. Xu (2022), chapter 3. Differs from the thesis: a valid sampler by
default, where the thesis has T = 1 and a sampler at 2.5e-5 (at so low a T the ratio is steep: watch max |log g| and
the gradient norm); and the penalty α (Du & Mordatch 2019), which keeps energies of images small where no spectral
normalisation does. At 𝒦 = 1 the gradient with α/2T is 1/2T of mle's with α: Adam takes the same steps, unless gradients
are clipped. The thesis has buffer 10 000, rejuvenation 25 % and no averaged weights (`training.ema`).
"""

from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.core.energy import Energy
from ebmbench.methods.common.adaptive_noise import AdaptiveNoise, AdaptiveNoiseSettings, log_ratio

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models, Tsinghua University thesis, 2022"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
REMARK = "Its training chains start at noise and go on in a persistent buffer."
NOISE = "a frozen copy of the model"
# Table 5.2 of the thesis: values by the interval 𝒦.
PUBLISHED = {
    "setting": "interval",
    "source": "Xu 2022, CIFAR-10",
    "values": {
        "fid": {1: 147.82, 5: 157.17, 10: 165.42, 20: 214.12, 50: 310.54},
        "inception_score": {1: 4.03, 5: 3.74, 10: 3.57, 20: 3.45, 50: 2.61},
    },
    "about": "`interval` is the number of steps after which `adance` renews its noise. The published rows are of "
    "CIFAR-10 with the network, budget and features (Inception-v3) of the thesis: their values cannot be compared with "
    "ours, their tendency can.",
}
EXAMPLES = [{"interval": 1, "temperature": 0.5}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0}


def adaptive_contrast(
    energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor, temperature: float = 1.0, penalty: float = 0.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss for data and negatives, `(B, *event)` each, and its diagnostics."""
    ratio = log_ratio(energy, frozen, x, negatives, temperature)
    loss = softplus(ratio.on_negatives).mean() + softplus(-ratio.on_data).mean()
    if penalty:
        loss = loss + penalty * (ratio.energy_of_data.square().mean() + ratio.energy_of_negatives.square().mean())
    return loss, ratio.diagnostics()


class Settings(AdaptiveNoiseSettings):
    """`params.yaml: methods.adance`."""

    energy_penalty: float = Field(0.0, ge=0, description="α; at 𝒦 = 1 mle's over 2T does what mle's does")


class Method(AdaptiveNoise):
    """Adaptive noise with the logistic loss."""

    settings: Settings

    def contrast(
        self, energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The logistic loss."""
        return adaptive_contrast(energy, frozen, x, negatives, self.temperature, self.settings.energy_penalty)
