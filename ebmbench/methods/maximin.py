"""The adversarial bound: a flow bounds log Z from below, and stands in for the chains of maximum likelihood.

For any q_φ, log Z ≥ E_q[−E] + H(q), with equality at q = p_θ, for the difference is KL(q ‖ p_θ). So

    φ minimises   F = mean E(y) + mean log q_φ(y),   y ~ q_φ,   which is −(the bound), and
    θ minimises   L = mean E(x) − mean E(y),         whose gradient is that of −log-likelihood where q = p_θ.

A flow gives its entropy exactly, as the mean of −log q_φ over its own samples, with no estimate of it beside. Kim
& Bengio (2016); Beigy (2024), Adversarial training. Differs from the paper: its generator is a network whose entropy
must be guessed; here it is a flow of affine couplings. A flow that has not kept up with the energy gives the gradient
of another model, so it moves faster than the energy: `adversary_rate` and `adversary_updates`.
"""

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core.contrastive import contrastive
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.flow_noise import FlowMethod, FlowSettings

PAPER = "Kim & Bengio, Deep Directed Generative Models with Energy-Based Probability Estimation, 2016"
YEAR = 2016
LINK = "https://arxiv.org/abs/1606.03439"
EXAMPLES = [{"adversary_updates": 2, "couplings": 2, "energy_penalty": 0.1}]
RECOVERY = {"couplings": 2, "adversary_width": 8, "adversary_rate": 2e-2}


def free_energy(energy: Energy, y: Tensor, log_q: Tensor) -> Tensor:
    """F for samples of q `(B, *event)` and their log-densities: −F is a lower bound of log Z."""
    return (energy(y) + log_q).mean()


class Settings(FlowSettings):
    """`params.yaml: methods.maximin`."""

    learning_rate: float = Field(2e-3, gt=0)
    adversary_rate: float = Field(5e-3, gt=0, description="peak of the flow's learning rate")
    adversary_updates: int = Field(4, ge=1, description="updates of the flow per training step")
    couplings: int = Field(4, ge=2, description="affine couplings of the flow")
    energy_penalty: float = Field(0.0, ge=0, description="α")


class Method(FlowMethod):
    """The flow minimises."""

    settings: Settings
    maximises = False

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """The flow approaches the model, then the energy learns from data and fresh samples of the flow."""

        def objective(meter: Meter, draw: Draw) -> Tensor:
            return free_energy(meter, *self.flow.sample(meter, len(x), draw))

        self.last = self.adversary.learn(energy, objective, draw, self.pace)
        with torch.no_grad():
            y, _ = self.flow.sample(energy, len(x), draw)
        return contrastive(energy, x, y, self.settings.energy_penalty)[0]
