"""Convex functions Ψ of a density ratio u, and the losses of Bregman ratio matching.

A strictly convex Ψ gives S₁ = Ψ′ and S₀(u) = u·Ψ′(u) − Ψ(u), and with g the ratio of model to noise

    L = mean S₀(g(noise)) − mean S₁(g(data))

is the Bregman divergence from the ratio of data to noise to g, up to a constant. Gutmann & Hirayama (2011); Sugiyama
et al. (2012); Xu (2022), chapter 4. Every S is written in log g, so that none overflows before its own value does; kl,
squared and power weigh noise by a power of g, itakura_saito, hellinger and neyman data by one of 1/g, and where model
and noise are far apart a single event can outweigh the rest. brier and logistic have bounded gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn.functional import softplus

Name = Literal["logistic", "kl", "squared", "power", "itakura_saito", "hellinger", "brier", "neyman"]


@dataclass(frozen=True)
class Divergence:
    """A strictly convex Ψ(u) for u > 0, and its S₀ and S₁ as functions of log u."""

    psi: Callable[[Tensor], Tensor]
    s0: Callable[[Tensor], Tensor]
    s1: Callable[[Tensor], Tensor]

    def loss(self, on_data: Tensor, on_noise: Tensor) -> Tensor:
        """L for log g on data and on noise."""
        return self.s0(on_noise).mean() - self.s1(on_data).mean()


DIVERGENCES: dict[Name, Divergence] = {
    # u log u − (1 + u) log(1 + u): S₀ = log(1 + u), S₁ = log u − log(1 + u). Xu (4.11).
    "logistic": Divergence(lambda u: u * u.log() - (1 + u) * u.log1p(), lambda r: softplus(r), lambda r: -softplus(-r)),
    # u log u − u, the thesis's u log u but for a line, which moves no minimum: S₀ = u, S₁ = log u.
    "kl": Divergence(lambda u: u * u.log() - u, lambda r: r.exp(), lambda r: r),
    # ½u²: S₀ = ½u², S₁ = u. Least-squares importance fitting (Kanamori et al. 2009).
    "squared": Divergence(lambda u: u.square() / 2, lambda r: (2 * r).exp() / 2, lambda r: r.exp()),
    # (u^(1+α) − u)/α with α = ½: S₀ = u^(1+α), S₁ = ((1 + α)u^α − 1)/α. Basu et al. (1998).
    "power": Divergence(lambda u: 2 * (u**1.5 - u), lambda r: (1.5 * r).exp(), lambda r: 3 * (r / 2).exp() - 2),
    # −log u: S₀ = log u − 1, S₁ = −1/u.
    "itakura_saito": Divergence(lambda u: -u.log(), lambda r: r - 1, lambda r: -(-r).exp()),
    # −2√u: S₀ = √u, S₁ = −1/√u, the exponential loss of boosting.
    "hellinger": Divergence(lambda u: -2 * u.sqrt(), lambda r: (r / 2).exp(), lambda r: -(-r / 2).exp()),
    # 1/(1 + u): S₀ = (u/(1 + u))² − 1, S₁ = −1/(1 + u)², the squared error of the classifier.
    "brier": Divergence(lambda u: 1 / (1 + u), lambda r: r.sigmoid().square() - 1, lambda r: -(-r).sigmoid().square()),
    # 1/(2u): S₀ = −1/u, S₁ = −1/(2u²).
    "neyman": Divergence(lambda u: 1 / (2 * u), lambda r: -(-r).exp(), lambda r: -(-2 * r).exp() / 2),
}
