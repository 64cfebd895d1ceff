"""Independence Metropolis–Hastings: proposals x′ ~ q = N(m, w² I), whatever the present state.

Accepted with probability min(1, exp(E(x) − E(x′)) · q(x)/q(x′)): chains jump between distant modes, as long as q
covers all of them and the dimension is small. q must be wider than the target: where it is not, a chain that
gets there hardly ever leaves. m is the data's mean and w is `width` of the data's deviations. No gradient is
asked of the energy. Diagnostics: acceptance rate.
"""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, fixed
from ebmbench.core.streams import normal
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import Chain, SamplerSettings
from ebmbench.samplers.common.metropolis import AcceptanceRate, draw_acceptance, select

PAPER = "Hastings, Monte Carlo Sampling Methods Using Markov Chains and Their Applications, Biometrika 57(1), 1970"
YEAR = 1970
LINK = "https://doi.org/10.1093/biomet/57.1.97"
EXAMPLE = {"steps": 5, "width": 1.5}
STATIONARY = {"steps": 30}


class Settings(SamplerSettings):
    """`{kind: independence, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["independence"] = "independence"
    width: float = Field(2.0, gt=0, description="w in units of the data's deviation")
    centre: list[float] | None = Field(None, description="m in the data's own units, flat; null: the data's mean")

    def fit_to(self, facts: Facts) -> "Settings":
        """The same settings in the data's own units, with the data's mean unless there is a centre."""
        centre = facts.mean if self.centre is None else self.centre
        return self.model_copy(update={"width": self.width * facts.unit, "centre": centre})

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """A centre has the data's coordinates."""
        return None if facts is None else self._off(math.prod(facts.shape))

    def _off(self, size: int) -> str | None:
        if self.centre is None or len(self.centre) == size:
            return None
        return f"centre: found {len(self.centre)} numbers, allowed: {size}, one a coordinate"

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings; without a centre, around zero."""
        return independence(energy, x, self.steps, self._mean(x), self.width, generator)

    def _mean(self, x: Tensor) -> Tensor:
        event = x.shape[1:]
        if self.centre is None:
            return torch.zeros(event, dtype=x.dtype, device=x.device)
        if (reason := self._off(event.numel())) is not None:
            raise UserError(f"sampler.{reason}")
        return torch.tensor(self.centre, dtype=x.dtype, device=x.device).reshape(event)


@torch.no_grad()
def independence(energy: Energy, x: Tensor, steps: int, mean: Tensor, width: float, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals."""
    energy = fixed(energy)
    e, log_q = energy(x), _log_density((x - mean) / width)
    rate = AcceptanceRate(x)
    for _ in range(steps):
        noise = normal(x, generator)
        proposal = mean + width * noise
        e_new, log_q_new = energy(proposal), _log_density(noise)
        accept = draw_acceptance(e - e_new + log_q - log_q_new, x.dtype, generator)
        x, e, log_q = select(accept, (proposal, e_new, log_q_new), (x, e, log_q))
        rate.add(accept)
    return Chain(x, rate.diagnostics())


def _log_density(standardised: Tensor) -> Tensor:
    """log q up to its constant, which cancels."""
    return -0.5 * standardised.flatten(1).square().sum(1)
