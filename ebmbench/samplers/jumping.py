"""Metropolis-adjusted Langevin with jumps: local steps that follow the gradient, and proposals that forget the state.

A step is `jumps` independence proposals x′ ~ q, each accepted with probability min(1, exp(E(x) − E(x′)) · q(x)/q(x′)),
and one MALA proposal (see `mala`). Each leaves exp(−E)/Z exactly in place, hence so does the step (Tierney 1994, 2.4).
The jumps carry chains between modes that no local step connects, the local step moves them inside of a mode that is
narrow beside q.

q is Student's distribution with `TAIL` degrees of freedom around the data's mean, with the data's covariance as its
scale matrix, times `width`². Its tails are heavier than those of any density that falls exponentially, so p/q is
bounded and no chain can get stuck far out, as it could with a Gaussian (Mengersen & Tweedie 1996). The share of jumps
that are accepted falls exponentially with the dimension: on the toys it is 0.10 to 0.26, on images nothing.

Diagnostics: acceptance of the local steps, acceptance of the jumps, and the mean gradient norm along the chain.
"""

import math
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.dataset import LARGEST, Facts
from ebmbench.core.energy import Energy, fixed
from ebmbench.core.streams import normal, uniform
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import Chain, GradientNorms, SteppingSettings
from ebmbench.samplers.common.metropolis import AcceptanceRate, draw_acceptance, select
from ebmbench.samplers.mala import Noise, Proposals

PAPER = "Tierney, Markov Chains for Exploring Posterior Distributions, Annals of Statistics 22(4), 1994"
YEAR = 1994
LINK = "https://doi.org/10.1214/aos/1176325750"
EXAMPLE = {"steps": 3, "jumps": 2, "step_size": 0.1}
STATIONARY = {"steps": 20, "jumps": 2, "step_size": 0.5}
TAIL = 4  # degrees of freedom; even, so that χ² is a sum of exponentials


class Settings(SteppingSettings):
    """`{kind: jumping, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["jumping"] = "jumping"
    jumps: int = Field(8, ge=1, description="independence proposals before each local one")
    width: float = Field(1.0, gt=0, description="of the jumps, in units of the data's deviation")
    truncation: float = Field(2.0, gt=0, description="longest local drift, in units of the noise √η")
    centre: list[float] | None = Field(None, description="of the jumps, flat; null: the data's mean")
    covariance: list[list[float]] | None = Field(None, description="of the jumps; null: the data's")

    def fit_to(self, facts: Facts) -> "Settings":
        """The same settings in the data's own units, with the data's moments unless others are named."""
        update = {
            "step_size": self.step_size * facts.unit**2,
            "centre": facts.mean if self.centre is None else self.centre,
            "covariance": (facts.covariance or None) if self.covariance is None else self.covariance,
        }
        return self.model_copy(update=update)

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """Centre and covariance have the data's coordinates, and the covariance of many coordinates is not known."""
        if facts is not None and not facts.covariance and self.covariance is None:
            return f"kind: found jumping for {math.prod(facts.shape)} coordinates, allowed: for at most {LARGEST}"
        return None if facts is None else self._off(math.prod(facts.shape))

    def _off(self, size: int) -> str | None:
        if self.centre is not None and len(self.centre) != size:
            return f"centre: found {len(self.centre)} numbers, allowed: {size}, one a coordinate"
        if self.covariance is not None and [len(row) for row in self.covariance] != [size] * size:
            return f"covariance: found {len(self.covariance)} rows, allowed: {size} of {size} numbers"
        return None

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings; without moments, around zero with deviation `width`."""
        size = x.shape[1:].numel()
        if (reason := self._off(size)) is not None:
            raise UserError(f"sampler.{reason}")
        mean = torch.zeros(size) if self.centre is None else torch.tensor(self.centre)
        root = torch.eye(size, dtype=torch.float64)
        if self.covariance is not None:
            root = torch.linalg.cholesky(torch.tensor(self.covariance, dtype=torch.float64))
        student = Student(mean.to(x), (self.width * root).to(x))
        proposals = Proposals.of(fixed(energy), self.step_size, self.truncation)
        return jumping(proposals, x, self.steps, self.jumps, student, generator)


class Student(NamedTuple):
    """The distribution of jumps: x = m + R·z·√(ν/χ²_ν) with z standard normal, events flat."""

    mean: Tensor
    root: Tensor

    def draw(self, like: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Events of the shape of `like`, and log q of each."""
        z = normal(like.flatten(1), generator)
        halves = [uniform(like.flatten(1)[:, 0], generator) for _ in range(TAIL // 2)]
        chi = -2 * torch.stack([torch.log1p(-half) for half in halves]).sum(0)
        y = z * (TAIL / chi).sqrt()[:, None]
        return (self.mean + y @ self.root.mT).reshape(like.shape), self._log_density(y)

    def log_density(self, x: Tensor) -> Tensor:
        """log q(x) up to its constant, which cancels, `(B,)`."""
        shifted = (x.flatten(1) - self.mean).mT
        return self._log_density(torch.linalg.solve_triangular(self.root, shifted, upper=False).mT)

    @staticmethod
    def _log_density(y: Tensor) -> Tensor:
        return -0.5 * (TAIL + y.shape[1]) * torch.log1p(y.square().sum(1) / TAIL)


@torch.no_grad()
def jumping(proposals: Proposals, x: Tensor, steps: int, jumps: int, student: Student, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` steps."""
    energy, norms, rate, leaps = proposals.energy, GradientNorms(x, steps), AcceptanceRate(x), AcceptanceRate(x)
    x, e = x.detach(), energy(x)
    for _ in range(steps):
        log_q = student.log_density(x)
        for _ in range(jumps):
            proposal, log_q_new = student.draw(x, generator)
            e_new = energy(proposal)
            accept = draw_acceptance(e - e_new + log_q - log_q_new, x.dtype, generator)
            x, e, log_q = select(accept, (proposal, e_new, log_q_new), (x, e, log_q))
            leaps.add(accept)
        # A jump asks for the energy alone, so that the score must be asked for here.
        state, accept = proposals.step(proposals.at(x), Noise(normal(x, generator), uniform(e, generator)))
        x, e = state.x, state.e
        rate.add(accept)
        norms.add(state.s)
    leapt = leaps.diagnostics()["acceptance"]
    return Chain(x, {**rate.diagnostics(), "jump_acceptance": leapt, **norms.diagnostics()})
