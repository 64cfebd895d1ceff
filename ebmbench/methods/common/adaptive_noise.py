"""Adaptive noise: the noise is a frozen copy of the model itself, renewed every 𝒦 = `interval` steps.

E_m is the copy. Negatives x⁻ come from a sampler on E_m, and log g(x) = (E_m(x) − E(x))/T is the log-ratio of model to
noise, up to their normalisers. A method adds its loss of log g(x⁺) and log g(x⁻).

T makes ratio and sampler speak of one density: chains of a sampler at temperature T tend to exp(−E_m/T).
`temperature: null` takes the sampler's own (1 if it is valid, τ²/η for short-run Langevin). Chains live in a buffer, of
which a fraction restarts from noise. Xu (2022), algorithm 3.1: step t renews the copy after its update when
(t + 1) mod 𝒦 = 0, which is before the update of a step t with t mod 𝒦 = 0.
"""

import copy
from typing import NamedTuple, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.samplers import mala
from ebmbench.samplers.common.buffer import Buffer, Replace
from ebmbench.samplers.common.chain import Chain
from ebmbench.samplers.common.choice import Sampler


class Ratio(NamedTuple):
    """log g and E of data and of negatives, `(B,)` each."""

    on_data: Tensor
    on_negatives: Tensor
    energy_of_data: Tensor
    energy_of_negatives: Tensor

    def diagnostics(self) -> dict[str, Tensor]:
        """max |log g|, and the energy gap mean E(x⁻) − mean E(x⁺)."""
        log_g = torch.cat([self.on_data, self.on_negatives]).detach()
        gap = self.energy_of_negatives.detach().mean() - self.energy_of_data.detach().mean()
        return {"max_abs_log_g": log_g.abs().max(), "energy_gap": gap}


def log_ratio(energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor, temperature: float) -> Ratio:
    """log g on data and negatives, `(B, *event)` each; E_m and the negatives are constants."""
    both = torch.cat([x, negatives.detach()])
    with torch.no_grad():
        before = frozen(both)
    now = energy(both)
    log_g = (before - now) / temperature
    return Ratio(log_g[: len(x)], log_g[len(x) :], now[: len(x)], now[len(x) :])


class AdaptiveNoiseSettings(method.Settings):
    """The copy, its chains and the temperature of the ratio; a method adds its own."""

    learning_rate: float = Field(5e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=10, step_size=0.4)
    interval: int = Field(5, ge=1, description="𝒦, steps between two copies; 1 is maximum likelihood")
    temperature: float | None = Field(None, gt=0, description="T of the ratio; null: the sampler's own")
    buffer: int = Field(2_000, ge=1, description="persistent chains; 10 000 in the thesis")
    rejuvenation: float = Field(0.01, ge=0, le=1, description="fraction of drawn chains that restart from noise")
    replace: Replace = "drawn"

    @model_validator(mode="after")
    def _has_a_temperature(self) -> Self:
        if self.temperature is None and self.sampler.temperature == 0:
            raise ValueError("a temperature above 0, since the sampler has no noise to take it from (noise_std: 0)")
        return self


class AdaptiveNoise(method.Method):
    """Keeps the frozen copy, the chains, and the number of steps taken. A method gives `contrast`."""

    settings: AdaptiveNoiseSettings
    taken: Tensor
    frozen: nn.Module

    def __init__(self, settings: AdaptiveNoiseSettings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fit_to(facts)
        self.temperature = self.sampler.temperature if settings.temperature is None else settings.temperature
        self.buffer = Buffer(settings.buffer, facts.shape, settings.replace)
        self.register_buffer("taken", torch.zeros((), dtype=torch.int64))

    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """The copy is the network as it starts; all chains start from noise."""
        self.frozen = copy.deepcopy(network).requires_grad_(False)
        self.buffer.start_from_noise(self.facts, draw, network)
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
        loss, diagnostics = self.contrast(energy, frozen, x, chain.x)
        self.last = {**diagnostics, **chain.columns()}
        return loss

    def contrast(
        self, energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss for data and negatives, and diagnostics for the history."""
        raise NotImplementedError
