"""Self-adapting Bregman ratio matching: match the ratio of model to frozen copy under any convex Ψ.

E_m is a copy of the energy, renewed every 𝒦 = `interval` steps; negatives x⁻ come from a sampler on E_m, and
log g(x) = (E_m(x) − E(x))/T. A strictly convex Ψ gives S₁ = Ψ′ and S₀(u) = u·Ψ′(u) − Ψ(u), and

    L = mean S₀(g(x⁻)) − mean S₁(g(x⁺)).

`logistic` is adance. Since S₀′(u) = u·S₁′(u), the gradient at g = 1 (always so when 𝒦 = 1) is Ψ″(1) times that of
maximum likelihood, whatever Ψ. Xu (2022), chapter 4 (the thesis names logistic, kl and squared, and trains none);
Gutmann & Hirayama (2011); Sugiyama et al. (2012). Every S is written in log g, so that none overflows before its own
value does; kl, squared and power weigh negatives by a power of g, itakura_saito, hellinger and neyman data by one of
1/g, and far from the copy a single event can outweigh the rest: watch max |log g| (neyman, with 1/g², was given up
at its third step in the one run tried, two_moons at 𝒦 = 5). brier and logistic have bounded gradients.
Copy, chains and temperature are adance's.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, Meter
from ebmbench.core.streams import Draw
from ebmbench.samplers import mala
from ebmbench.samplers.common.buffer import Buffer
from ebmbench.samplers.common.chain import Chain
from ebmbench.samplers.common.choice import Sampler

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models (chapter 4), Tsinghua thesis, 2022"
YEAR = 2022

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
    """The loss for data and negatives, `(B, *event)` each, and what tells of it; E_m is a constant.

    That is max |log g|, and the energy gap mean E(x⁻) − mean E(x⁺).
    """
    both = torch.cat([x, negatives.detach()])
    with torch.no_grad():
        before = frozen(both)
    now = energy(both)
    log_g = (before - now) / temperature
    on_data, on_negatives = log_g[: len(x)], log_g[len(x) :]
    loss = divergence.s0(on_negatives).mean() - divergence.s1(on_data).mean()
    now, log_g = now.detach(), log_g.detach()
    return loss, {"max_abs_log_g": log_g.abs().max(), "energy_gap": now[len(x) :].mean() - now[: len(x)].mean()}


class Settings(method.Settings):
    """`params.yaml: methods.adabrm`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=20, step_size=0.05)
    divergence: Name = Field("kl", description="Ψ by name; logistic is adance")
    interval: int = Field(5, ge=1, description="𝒦, steps between two copies; 1 is maximum likelihood")
    temperature: float | None = Field(None, gt=0, description="T of the ratio; null: the sampler's own")
    buffer: int = Field(2_000, ge=1, description="persistent chains")
    rejuvenation: float = Field(0.25, ge=0, le=1, description="fraction of drawn chains that restart from noise")

    @model_validator(mode="after")
    def _has_a_temperature(self) -> "Settings":
        if self.temperature is None and self.sampler.temperature == 0:
            raise ValueError("a temperature above 0, since the sampler has no noise to take it from (noise_std: 0)")
        return self


class Method(method.Method):
    """Keeps the frozen copy, the chains, and the number of steps taken."""

    settings: Settings
    taken: Tensor
    frozen: nn.Module

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fitted(facts)
        self.temperature = self.sampler.temperature if settings.temperature is None else settings.temperature
        self.divergence = DIVERGENCES[settings.divergence]
        self.buffer = Buffer(settings.buffer, facts.shape)
        self.register_buffer("taken", torch.zeros((), dtype=torch.int64))

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """The copy is the network as it starts; all chains start from noise."""
        self.frozen = copy.deepcopy(network).requires_grad_(False)
        self.buffer.fill(self.facts.starts(self.settings.buffer, draw("buffer")))
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against samples of the frozen copy."""
        if int(self.taken) % self.settings.interval == 0:
            self.frozen.load_state_dict(energy.network.state_dict())
        self.taken += 1
        frozen = energy.beside(self.frozen)

        def move(starts: Tensor) -> Chain:
            return self.sampler.run(frozen, starts, draw("chain"))

        fresh = self.facts.starts(len(x), draw("restart")).to(x.device)
        chain = self.buffer.advance(move, fresh, self.settings.rejuvenation, draw)
        loss, self.last = bregman_ratio_matching(energy, frozen, x, chain.x, self.divergence, self.temperature)
        self.last |= chain.named()
        return loss
