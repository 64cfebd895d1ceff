"""Adversarial contrastive estimation: half of the noise is fixed, half from a generator that fools the classifier.

With log p_θ(x) = −E(x) − c, where c is learned, noise p_n = ½ p₀ + ½ q_φ and G = log p_θ − log p_n − log ν:

    L = mean softplus(−G(x)) + ν · mean softplus(G(y)),   y ~ p_n,   min over θ and c, max over φ.

The fixed half p₀, a Gaussian with the data's mean and covariance × 1.2, keeps noise where the generator has none, so a
generator that collapses to few modes does less harm than in `fce`. For a fixed generator it is nce. Bose, Ling & Cao
(2018); Xu (2022) 3.1. Differs from the paper: the generator is a flow, whose density is known (an implicit one would
leave p_n unknown, as Xu says), and it learns through its samples, where the paper has words and needs REINFORCE.
"""

import math

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.flow_noise import FlowNoise, FlowSettings, Noise, fit_base

PAPER = "Bose, Ling & Cao, Adversarial Contrastive Estimation, ACL 2018"
YEAR = 2018
LINK = "https://aclanthology.org/P18-1094"
NOISE = "half fixed, half a flow that learns"
LEARNS_Z = True
ADVERSARIAL = True
EXAMPLES = [{"adversary_updates": 2, "couplings": 2}]
RECOVERY = {"couplings": 2, "adversary_width": 8}


def mix(log_base: Tensor, log_generator: Tensor) -> Tensor:
    """log(½ p₀ + ½ q)."""
    return torch.logaddexp(log_base, log_generator) - math.log(2)


class Settings(FlowSettings):
    """`params.yaml: methods.ace`."""

    learning_rate: float = Field(1e-2, gt=0)


class Method(FlowNoise):
    """Half of the noise is the flow's."""

    settings: Settings

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.base = fit_base(facts)

    def draw_noise(self, meter: Meter, x: Tensor, draw: Draw) -> Noise:
        """As many of each kind, together as many as there are data, or one more."""
        count = (len(x) + 1) // 2
        fixed = self.base.draw(count, draw("base")).to(x.device).reshape(-1, *x.shape[1:])
        y, log_q = self.flow.sample(meter, count, draw)
        given = self.flow.explain(meter, torch.cat([x, fixed]))
        of_data = mix(self._log_base(x), given[: len(x)])
        of_fixed, of_generated = mix(self._log_base(fixed), given[len(x) :]), mix(self._log_base(y), log_q)
        return Noise(torch.cat([fixed, y]), of_data, torch.cat([of_fixed, of_generated]))

    def _log_base(self, x: Tensor) -> Tensor:
        # The base's own tensors stay where its samples are drawn.
        return self.base.log_prob(x.flatten(1).cpu()).to(x.device)
