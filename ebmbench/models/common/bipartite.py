"""Two layers of binary units, joined by weights: E(v, h) = −bᵀv − cᵀh − vᵀWh.

Summed over h, the free energy is F_β(v) = −β bᵀv − Σⱼ log(1 + exp β(cⱼ + vᵀW:ⱼ)). Each layer given the other is a row
of independent coins: p(h = 1 | v) = σ(β(c + vW)), p(v = 1 | h) = σ(β(b + Wh)). So a sweep is two matrix products, and
log Z is a sum over the states of the smaller layer, with the other one summed out.
"""

import math
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ebmbench.core.binary import FEWEST_HIDDEN, draw_units, enumerate_log_z, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.errors import UserError


class Bipartite(NamedTuple):
    """Weights `(V, H)` and biases as plain tensors; events may have any shape with V units."""

    weight: Tensor
    visible_bias: Tensor
    hidden_bias: Tensor

    @property
    def sweep_passes(self) -> int:
        """There and back."""
        return 2

    def __call__(self, x: Tensor) -> Tensor:
        """F(v), `(B,)`."""
        return self.free_energy(x)

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """F_β(v), `(B,)`."""
        v = x.flatten(1)
        inputs = torch.addmm(self.hidden_bias, v, self.weight) * beta
        direct = (v @ self.visible_bias)[:, None] * beta
        return -direct.squeeze(1) - log_one_plus_exp(inputs).sum(1)

    def hidden(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """p(h = 1 | v), `(B, H)`."""
        return torch.sigmoid(torch.addmm(self.hidden_bias, x.flatten(1), self.weight) * beta)

    def visible(self, h: Tensor, beta: float | Tensor = 1.0, field: Tensor | float = 0.0) -> Tensor:
        """p(v = 1 | h), `(B, V)`."""
        return torch.sigmoid(torch.addmm(self.visible_bias, h, self.weight.mT) * beta + field)

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0, field: Tensor | float = 0.0) -> Tensor:
        """Hidden units given the visible ones, then visible ones given these."""
        h = draw_units(self.hidden(x, beta), generator)
        return draw_units(self.visible(h, beta, field), generator).reshape(x.shape)

    def swapped(self) -> "Bipartite":
        """The same machine with its layers in each other's place."""
        return Bipartite(self.weight.mT, self.hidden_bias, self.visible_bias)

    @torch.no_grad()
    def log_partition(self) -> float | None:
        """log Z in float64."""
        double = Bipartite(*(part.double() for part in self))
        smaller = double if len(self.visible_bias) <= len(self.hidden_bias) else double.swapped()
        units = len(smaller.visible_bias)
        return enumerate_log_z(lambda v: -smaller.free_energy(v), units) if units <= FEWEST_HIDDEN else None


def logit_of_mean(mean: list[float]) -> Tensor:
    """log(m/(1 − m)) of each unit's mean, a thousandth away from 0 and 1: units that never change stay usable."""
    share = torch.tensor(mean).clamp(0.001, 0.999)
    return torch.log(share / (1 - share))


def widest_uniform(visible: int, hidden: int) -> float:
    """4·√(6/(V + H)), the reach of the first weights (Glorot & Bengio 2010, for sigmoid units)."""
    return 4 * math.sqrt(6 / (visible + hidden))


def require_binary(model: str, facts: Facts) -> None:
    """Refuse data that are not 0 and 1."""
    if not facts.binary:
        raise UserError(f"model {model}: found real-valued data ({facts.name}), allowed: binary data")
