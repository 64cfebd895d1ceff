"""Self-adapting Bregman ratio matching: match the ratio of model to frozen copy under any convex Ψ.

With the copy E_m, its samples x⁻ and log g(x) = (E_m(x) − E(x))/T (`common/adaptive_noise.py`), a strictly convex Ψ
gives S₁ = Ψ′ and S₀(u) = u·Ψ′(u) − Ψ(u), and

    L = mean S₀(g(x⁻)) − mean S₁(g(x⁺)).

`logistic` is adance. Since S₀′(u) = u·S₁′(u), the gradient at g = 1 (always so when 𝒦 = 1) is Ψ″(1) times that of
maximum likelihood, whatever Ψ. Xu (2022), chapter 4 (the thesis names logistic, kl and squared, and trains none);
Gutmann & Hirayama (2011); Sugiyama et al. (2012). Every S is written in log g, so that none overflows before its own
value does; kl, squared and power weigh negatives by a power of g, itakura_saito, hellinger and neyman data by one of
1/g, and far from the copy a single event can outweigh the rest: watch max |log g| (neyman, with 1/g², was given up
at its third step in the one run tried, two_moons at 𝒦 = 5). brier and logistic have bounded gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.core.energy import Energy
from ebmbench.methods.common.adaptive_noise import AdaptiveNoise, AdaptiveNoiseSettings, log_ratio

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models (chapter 4), Tsinghua thesis, 2022"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
REMARK = "Its training chains start at noise and go on in a persistent buffer."
EXAMPLES = [{"divergence": "brier", "interval": 1}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0}

Name = Literal["logistic", "kl", "squared", "power", "itakura_saito", "hellinger", "brier", "neyman"]


@dataclass(frozen=True)
class Divergence:
    """A strictly convex Ψ(u) for u > 0, and its S₀ and S₁ as functions of log u."""

    psi: Callable[[Tensor], Tensor]
    s0: Callable[[Tensor], Tensor]
    s1: Callable[[Tensor], Tensor]


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


def bregman_ratio_matching(
    energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor, divergence: Divergence, temperature: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss for data and negatives, `(B, *event)` each, and its diagnostics."""
    ratio = log_ratio(energy, frozen, x, negatives, temperature)
    return divergence.s0(ratio.on_negatives).mean() - divergence.s1(ratio.on_data).mean(), ratio.diagnostics()


class Settings(AdaptiveNoiseSettings):
    """`params.yaml: methods.adabrm`."""

    divergence: Name = Field("kl", description="Ψ by name; logistic is adance")


class Method(AdaptiveNoise):
    """Adaptive noise with the loss of a convex Ψ."""

    settings: Settings

    def contrast(
        self, energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the chosen Ψ."""
        divergence = DIVERGENCES[self.settings.divergence]
        return bregman_ratio_matching(energy, frozen, x, negatives, divergence, self.temperature)
