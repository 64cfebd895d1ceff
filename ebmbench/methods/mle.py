"""Maximum likelihood with sampled negatives: lower the energy of data, raise it where the model's own samples are.

The gradient of −log p_θ is ∇E(x⁺) − E_{x⁻~p_θ}[∇E(x⁻)]; with x⁻ from a sampler, held fixed, it is the gradient of

    L = mean E(x⁺) − mean E(x⁻)   (+ α · mean(E(x⁺)² + E(x⁻)²), off by default).

Chains live in a buffer (`init: persistent`), of which a fraction restarts from noise each time it is drawn, or
start anew from `noise` or from `data` (which makes it contrastive divergence). Xu (2022) 2.2.3.1; Gagnon &
Lajoie 3, 5; penalty: Du & Mordatch (2019).
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.contrast import contrastive
from ebmbench.core.energy import Meter
from ebmbench.core.facts import Facts
from ebmbench.core.streams import Draw
from ebmbench.samplers import mala
from ebmbench.samplers.buffer import Buffer
from ebmbench.samplers.choice import Sampler

PAPER = "Younes, On the convergence of Markovian stochastic algorithms, 1999; Du & Mordatch, NeurIPS 2019"
YEAR = 1999


class Settings(method.Settings):
    """`params.yaml: methods.mle`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=20, step_size=0.1)
    init: Literal["persistent", "noise", "data"] = "persistent"
    buffer: int = Field(10_000, ge=1, description="persistent chains")
    rejuvenation: float = Field(0.05, ge=0, le=1, description="fraction of drawn chains that restart from noise")
    energy_penalty: float = Field(0.0, ge=0, description="α")


class Method(method.Method):
    """Keeps the persistent chains."""

    settings: Settings

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fitted(facts)
        self.buffer = Buffer(torch.zeros(settings.buffer, *facts.shape))
        self._last: dict[str, Tensor] = {}

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """All chains start from noise."""
        self.buffer.chains.copy_(self.facts.starts(len(self.buffer.chains), draw("buffer")))
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against the samples of as many chains."""
        persistent = self.settings.init == "persistent"
        index = self.buffer.pick(len(x), draw("pick")) if persistent else None
        chain = self.sampler.run(energy, self._starts(x, index, draw), draw("chain"))
        if index is not None:
            self.buffer.store(index, chain.x)
        self._last = {"chain_" + name: value for name, value in chain.diagnostics.items()}
        return contrastive(energy, x, chain.x, self.settings.energy_penalty)

    def health(self) -> dict[str, float]:
        """How the last chains behaved."""
        return {name: value.item() for name, value in self._last.items()}

    def _starts(self, x: Tensor, index: Tensor | None, draw: Draw) -> Tensor:
        if self.settings.init == "data":
            return x
        fresh = self.facts.starts(len(x) if index is None else len(index), draw("restart"))
        if index is None:
            return fresh
        return self.buffer.starts(index, fresh, self.settings.rejuvenation, draw("rejuvenate"))
