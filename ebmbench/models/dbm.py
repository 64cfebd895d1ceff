"""Deep Boltzmann machine: two hidden layers, all connections undirected.

    E(v, h¹, h²) = −bᵀv − c¹ᵀh¹ − c²ᵀh² − vᵀW¹h¹ − h¹ᵀW²h².

Given h¹ the layers v and h² are independent, so the model is a restricted Boltzmann machine whose one side is h¹ and
whose other side is (v, h²): its log Z is enumerated or annealed as such. Given v the hidden layers are dependent, so
the energy of an event is variational, with mean field (Salakhutdinov & Hinton 2009):

    −E(v) = max over μ of  bᵀv + μᵀ(c¹ + W¹ᵀv) + Σ log(1 + exp(c² + W²ᵀμ)) + H(μ),

by `rounds` rounds of μ² = σ(c² + W²ᵀμ), μ = σ(c¹ + W¹ᵀv + W²μ²) from the way up; its gradient takes μ as a constant.

Differs from the paper: there, two machines with doubled inputs are trained one after the other and joined. Here the
first layer learns as a machine of its own, and the second joins with small weights: the model is then its first layer,
mean field is exact, and all that it gains afterwards is the second layer's.
"""

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.binary import draw_units, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.models.common.bipartite import Bipartite
from ebmbench.models.common.deep import DeepModel, DeepSettings, entropy

PAPER = "Salakhutdinov & Hinton, Deep Boltzmann Machines, AISTATS 2009"
YEAR = 2009
LINK = "https://proceedings.mlr.press/v5/salakhutdinov09a.html"
EXAMPLE = {"hidden": 4, "top": 3}
EXAMPLE_STATES = "binary"


class Settings(DeepSettings):
    """`params.yaml: models.dbm`."""

    top: int = Field(64, ge=1, description="units of the second hidden layer")
    rounds: int = Field(10, ge=1, description="of mean field")


class Model(DeepModel):
    """The variational energy `(B, *event) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__("dbm", settings, facts, settings.top)
        self.rounds = settings.rounds

    def _draw_top(self, generator: Generator) -> None:
        self.top_weight.copy_(0.01 * torch.randn(self.top_weight.shape, generator=generator))

    def _put_on_top(self) -> None:
        """E(h¹, h²) is small at first, but not its mean over h²: c¹ makes up for it."""
        self.hidden_bias.sub_(0.5 * self.top_weight.sum(1))

    @property
    def energy_passes(self) -> int:
        """Two products with the second layer's weights a round, and the energy itself."""
        return 1 + 2 * self.rounds if int(self.stage) else 1

    def machine(self) -> Bipartite:
        """h¹ on the one side, (v, h²) on the other."""
        weight = torch.cat([self.weight.mT, self.top_weight], dim=1)
        return Bipartite(weight, self.hidden_bias, torch.cat([self.visible_bias, self.top_bias]))

    @torch.no_grad()
    def mean_field(self, v: Tensor) -> Tensor:
        """The logits of μ, `(B, H)`."""
        up = torch.addmm(self.hidden_bias, v, self.weight)
        logits = up
        for _ in range(self.rounds):
            top = torch.addmm(self.top_bias, logits.sigmoid(), self.top_weight).sigmoid()
            logits = torch.addmm(up, top, self.top_weight.mT)
        return logits

    def variational(self, v: Tensor) -> Tensor:
        """E(v) at the mean field's μ."""
        logits = self.mean_field(v)
        mu = logits.sigmoid()
        up = torch.addmm(self.hidden_bias, v, self.weight)
        top = log_one_plus_exp(torch.addmm(self.top_bias, mu, self.top_weight)).sum(1)
        return -(v @ self.visible_bias) - torch.linalg.vecdot(mu, up) - top - entropy(logits)

    @torch.no_grad()
    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """h² given h¹, then h¹ given (v, h²), then v given h¹; in stage 0 a sweep of the first layer."""
        rows = self.complete(x, generator)
        v, h = rows[:, : self.visible], self.layer(rows)
        inputs = torch.addmm(self.hidden_bias, v, self.weight)
        if int(self.stage):
            top = draw_units(torch.sigmoid(beta * torch.addmm(self.top_bias, h, self.top_weight)), generator)
            inputs = torch.addmm(inputs, top, self.top_weight.mT)
        h = draw_units(torch.sigmoid(beta * inputs), generator)
        return torch.cat([draw_units(self.first.visible(h, beta), generator), h], dim=1)
