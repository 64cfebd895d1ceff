"""Contrastive divergence: raise the energy where chains that start at the data have gone after k steps.

    L = mean E(x⁺) − mean E(x⁻),   x⁻ = k steps of a valid sampler from x⁺
        (+ α · mean(E(x⁺)² + E(x⁻)²), off by default: Du & Mordatch 2019).

The term through the sampler is dropped, as in the paper. `persistent: true` is PCD (Tieleman 2008): chains start at
data, go on from step to step, and restart at data with probability `reset`. The only difference from `mle` is where
chains start: here always at data, there at noise. Hinton (2002); Amini 4; Gagnon & Lajoie 4. Differs from the papers:
on continuous data Metropolis-adjusted Langevin takes the place of Gibbs steps (`sampler: {kind: block_gibbs}`); on
images Langevin steps with little noise, which are no valid sampler, take the place of both; of more persistent
chains than data in a batch some are drawn at each step, and their ends take their places, where Tieleman moves all;
weights that are judged are averages (`training.ema`).
"""

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

PAPER = "Hinton, Training Products of Experts by Minimizing Contrastive Divergence, 2002; PCD: Tieleman, ICML 2008"
YEAR = 2002
LINK = ("https://doi.org/10.1162/089976602760128018", "https://doi.org/10.1145/1390156.1390290")
REMARK = "Its training chains start at the data, those of `mle` at noise: compare their rows to see the effect."
REMARK_IF = {
    "sampler.noise_std": "Its steps have less noise than a valid sampler: chains of low temperature, for which the "
    "theory of contrastive divergence does not hold.",
    "persistent": "With `persistent=True` it is PCD: chains go on from step to step.",
}
EXAMPLES = [{"persistent": True, "chains": 40}, {"persistent": True, "chains": 40, "replace": "oldest"}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}}


class Settings(method.Settings):
    """`params.yaml: methods.cd`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=10, step_size=0.2)
    persistent: bool = Field(False, description="PCD: chains go on between steps")
    chains: int = Field(2_000, ge=1, description="persistent chains")
    reset: float = Field(0.05, ge=0, le=1, description="fraction of drawn persistent chains that restart at data")
    replace: Replace = "drawn"
    energy_penalty: float = Field(0.0, ge=0, description="α")


class Method(method.Method):
    """Keeps chains if they are persistent."""

    settings: Settings

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fit_to(facts)
        self.buffer = Buffer(settings.chains if settings.persistent else 0, facts.shape, settings.replace)

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """Chains have the network's shape."""
        self.buffer.fit_to(network)
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against where its own chains, or persistent ones, have gone."""
        starts = complete(energy, x, lambda: draw("rows"))

        def move(starts: Tensor) -> Chain:
            return self.sampler.run(energy, starts, draw("chain"))

        persistent = self.settings.persistent
        chain = self.buffer.advance(move, starts, self.settings.reset, draw) if persistent else move(starts)
        loss, gap = contrastive(energy, x, chain.x, self.settings.energy_penalty)
        self.last = {"energy_gap": gap, **chain.columns()}
        return loss

    @classmethod
    def starts_at_data(cls, settings: Settings) -> bool:
        """Always."""
        return True
