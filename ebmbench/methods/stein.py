"""Learned Stein discrepancy: a critic looks for where the model's score is wrong, and the energy corrects it there.

With s = −∇E and a vector field f, Stein's identity makes E_data[sᵀf + tr ∇f] zero for all f if s is the data's score.

    φ maximises   S = mean [sᵀf + vᵀ(∇f)v] − λ · mean ‖f‖²,   v Rademacher (Hutchinson's estimate of the trace),
    θ minimises   the part of it that θ changes, mean sᵀf.

The best critic is f = (s − s_data)/2λ, and then S = E_data‖s − s_data‖²/4λ, the Fisher divergence: score matching
without second derivatives of the energy, and without samples of it. Grathwohl et al. (2020); Jin 4.2. Differs from the
paper: score, critic and divergence are measured in the data's unit, so that nothing depends on it.
"""

from typing import Self, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.critic import Critic, field_and_trace, signs, stein_discrepancy
from ebmbench.core.dataset import Facts
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.adversary import Adversary, AdversarySettings

PAPER = "Grathwohl et al., Learning the Stein Discrepancy for Training and Evaluating EBMs without Sampling, ICML 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/2002.05616"
EXAMPLES = [{"adversary_updates": 2, "penalty": 0.1}]
RECOVERY = {"adversary_width": 8, "adversary_rate": 2e-2}


class Settings(AdversarySettings):
    """`params.yaml: methods.stein`."""

    learning_rate: float = Field(5e-3, gt=0)
    adversary_rate: float = Field(1e-2, gt=0, description="peak of the critic's learning rate")
    adversary_updates: int = Field(4, ge=1, description="updates of the critic per training step")
    penalty: float = Field(1.0, gt=0, description="λ, the price of the critic's length")


class Method(method.Method):
    """Keeps the critic, which starts at zero."""

    settings: Settings
    centre: Tensor
    no_binary = method.NO_SCORE

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.register_buffer("centre", torch.tensor(facts.mean), persistent=False)
        size = len(facts.mean)
        critic = Critic(size, settings.adversary_width)
        self.adversary = Adversary(critic, settings, maximises=True)

    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """Draw the critic's weights."""
        cast(Critic, self.adversary.network).initialise(draw("critic"))
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """The critic learns from the batch, then the energy."""
        unit = self.facts.unit
        s = unit * energy.score(x, create_graph=True).flatten(1)
        z = (x.flatten(1) - self.centre) / unit

        def objective(meter: Meter, draw: Draw) -> Tensor:
            meter.count(len(z), kept=True, passes=2)
            found = field_and_trace(self.adversary.network, z, signs(z, draw("directions")))
            return stein_discrepancy(s.detach(), *found, self.settings.penalty)

        self.last = self.adversary.learn(energy, objective, draw, self.pace)
        energy.count(len(z), kept=False)
        return (s * self.adversary.network(z)).sum(1).mean()
