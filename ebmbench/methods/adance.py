"""Self-adapting noise-contrastive estimation: the noise is a frozen copy of the model itself, renewed now and then.

E_m is a copy of the energy, renewed every 𝒦 = `interval` steps; negatives x⁻ come from a sampler on E_m, and
log g(x) = (E_m(x) − E(x))/T is the log-ratio of model to noise, up to their normalisers:

    L = mean softplus(log g(x⁻)) + mean softplus(−log g(x⁺))   (+ α · mean(E(x⁺)² + E(x⁻)²), off by default).

No normaliser is learned: since log g has no constant, the optimum keeps Z_θ = Z_m. At E = E_m (always so when
𝒦 = 1) the gradient is half of maximum likelihood's. T makes ratio and sampler speak of one density: chains of a
sampler at temperature T tend to exp(−E_m/T). `temperature: null` takes the sampler's own (1 if it is valid, τ²/η for
short-run Langevin); the thesis uses 1 with a sampler at 2.5e-5 (at so
low a T the ratio is steep: watch max |log g| and the gradient norm). Xu (2022), chapter 3, algorithm 3.1: step t renews
the copy after its update when (t + 1) mod 𝒦 = 0, which is before the update of a step t with t mod 𝒦 = 0. Chains
live in a buffer, of which a fraction restarts from noise. Differs from the thesis: a valid sampler by default, and
the penalty α (Du & Mordatch 2019), which keeps energies of images small where no spectral normalisation does.
"""

import copy

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

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models, Tsinghua University thesis, 2022"
YEAR = 2022


def adaptive_contrast(
    energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor, temperature: float = 1.0, penalty: float = 0.0
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
    loss = softplus(on_negatives).mean() + softplus(-on_data).mean()
    if penalty:
        loss = loss + penalty * (now[: len(x)].square().mean() + now[len(x) :].square().mean())
    now, log_g = now.detach(), log_g.detach()
    return loss, {"max_abs_log_g": log_g.abs().max(), "energy_gap": now[len(x) :].mean() - now[: len(x)].mean()}


class Settings(method.Settings):
    """`params.yaml: methods.adance`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=20, step_size=0.05)
    interval: int = Field(5, ge=1, description="𝒦, steps between two copies; 1 is maximum likelihood")
    temperature: float | None = Field(None, gt=0, description="T of the ratio; null: the sampler's own")
    buffer: int = Field(2_000, ge=1, description="persistent chains; 10 000 in the thesis")
    rejuvenation: float = Field(0.25, ge=0, le=1, description="fraction of drawn chains that restart from noise")
    energy_penalty: float = Field(0.0, ge=0, description="α; at 𝒦 = 1 half of mle's does what mle's does")

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
        loss, told = adaptive_contrast(energy, frozen, x, chain.x, self.temperature, self.settings.energy_penalty)
        self.last = {**told, **chain.named()}
        return loss
