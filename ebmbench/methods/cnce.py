"""Conditional noise-contrastive estimation: of a datum and a noisy copy of it, tell which is the datum.

With y = x + σε, ε ~ N(0, I), the pair (x, y) stands in this order or the other with equal odds. The noise is as dense
at y given x as at x given y, so it cancels, and with it the normaliser: log p_θ(x)/p_θ(y) = E(y) − E(x) = G, and

    L = 2 · mean softplus(−G(x, y)),

with κ noisy copies of each datum. G = 0 costs 2 log 2, a coin toss in both orders. For small σ

    L = 2 log 2 + ½σ² · mean (½‖s‖² + tr ∇s) + O(σ⁴),

which is score matching with a weight that vanishes. Ceylan & Gutmann (2018), section 2; Xu (2022) 3.1. Differs from
the paper: σ is in units of the data's deviation, one for all coordinates.
"""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal_on_cpu
from ebmbench.samplers.common.choice import Sampler

PAPER = "Ceylan & Gutmann, Conditional noise-contrastive estimation of unnormalised models, ICML 2018"
YEAR = 2018
LINK = "https://proceedings.mlr.press/v80/ceylan18a.html"
NOISE = "noisy copies of the data"
EXAMPLES = [{"ratio": 3}]
RECOVERY = {"ratio": 4, "sigma": 0.7}


def conditional_noise_contrastive(energy: Energy, x: Tensor, noise: Tensor, sigma: float) -> Tensor:
    """The loss for data `(B, *event)` and standard normal noise `(κB, *event)`; `sigma` in the data's units.

    The i-th noise is that of datum i mod B.
    """
    copies = len(noise) // len(x)
    y = x.repeat(copies, *[1] * (x.dim() - 1)) + sigma * noise
    both = energy(torch.cat([x, y]))
    of_data, of_noise = both[: len(x)], both[len(x) :]
    return 2 * softplus(of_data.repeat(copies) - of_noise).mean()


class Settings(method.Settings):
    """`params.yaml: methods.cnce`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    sigma: float = Field(1.0, gt=0, description="noise deviation in units of the data's scale")
    ratio: int = Field(1, ge=1, description="κ, noisy copies of each datum")


class Method(method.Method):
    """Has no state of its own."""

    settings: Settings
    no_binary = method.GAUSSIAN_NOISE

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh noise."""
        copies = x.new_empty(1).expand(self.settings.ratio * len(x), *x.shape[1:])
        noise = normal_on_cpu(copies, draw("noise")).to(x.device)
        return conditional_noise_contrastive(energy, x, noise, self.settings.sigma * self.facts.unit)
