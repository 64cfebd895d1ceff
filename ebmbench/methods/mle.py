"""Maximum likelihood with sampled negatives: lower the energy of data, raise it where the model's own samples are.

The gradient of −log p_θ is ∇E(x⁺) − E_{x⁻~p_θ}[∇E(x⁻)]; with x⁻ from a sampler, held fixed, it is the gradient of

    L = mean E(x⁺) − mean E(x⁻)   (+ α · mean(E(x⁺)² + E(x⁻)²), off by default).

Chains live in a buffer (`init: persistent`), of which a fraction restarts from noise each time it is drawn, or
start anew from `noise` or from `data` (which makes it contrastive divergence). Xu (2022) 2.2.3.1; Gagnon &
Lajoie 3, 5; penalty: Du & Mordatch (2019). Differs from the sources: a valid sampler by default, where Xu has 100
Langevin steps of 1 with noise 0.005; a buffer of 1000 of which 10 % restart, where he has 10 000 and 25 %; ends take
the places of the chains that were drawn, where Gagnon & Lajoie's leave first in, first out (`replace: oldest`); and the
weights that are judged are averages (`training.ema`).
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.contrastive import contrastive
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import complete
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.samplers import mala
from ebmbench.samplers.common.buffer import Buffer, Replace
from ebmbench.samplers.common.chain import Chain
from ebmbench.samplers.common.choice import Sampler

PAPER = "Younes, On the convergence of Markovian stochastic algorithms, 1999; Du & Mordatch, NeurIPS 2019"
YEAR = 1999
LINK = ("https://doi.org/10.1080/17442509908834179", "https://arxiv.org/abs/1903.08689")
REMARK = "Its training chains start at noise and go on in a persistent buffer, unless its settings say otherwise."
EXAMPLES = [{"init": "noise", "energy_penalty": 0.1}, {"buffer": 40, "replace": "oldest"}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0}


class Settings(method.Settings):
    """`params.yaml: methods.mle`."""

    learning_rate: float = Field(2e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=10, step_size=0.4)
    init: Literal["persistent", "noise", "data"] = "persistent"
    buffer: int = Field(1000, ge=1, description="persistent chains")
    rejuvenation: float = Field(0.1, ge=0, le=1, description="fraction of drawn chains that restart from noise")
    replace: Replace = "drawn"
    energy_penalty: float = Field(0.0, ge=0, description="α")


class Method(method.Method):
    """Keeps the persistent chains."""

    settings: Settings

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fit_to(facts)
        self.buffer = Buffer(settings.buffer, facts.shape, settings.replace)

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """All chains start from noise."""
        self.buffer.start_from_noise(self.facts, draw, network)
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against the samples of chains."""
        chain = self._chain(energy, x, draw)
        loss, gap = contrastive(energy, x, chain.x, self.settings.energy_penalty)
        self.last = {"energy_gap": gap, **chain.columns()}
        return loss

    def _chain(self, energy: Meter, x: Tensor, draw: Draw) -> Chain:
        def move(starts: Tensor) -> Chain:
            return self.sampler.run(energy, starts, draw("chain"))

        if self.settings.init == "data":
            return move(x)
        fresh = complete(energy, self.facts.starts(len(x), draw("restart")).to(x.device), lambda: draw("rows"))
        if self.settings.init == "noise":
            return move(fresh)
        return self.buffer.advance(move, fresh, self.settings.rejuvenation, draw)

    @classmethod
    def starts_at_data(cls, settings: Settings) -> bool:
        """Only with `init: data`."""
        return settings.init == "data"
