"""Parallel tempering: copies of each chain at several temperatures trade places, so that cold ones get over barriers.

Copies live at 1 = β₁ > … > β_L = `hottest`, evenly spaced, and each is moved by a step that leaves p_β ∝ exp(−F_β) in
place: a sweep of a Boltzmann machine (F_β is then that of its visible units), for other energies a MALA proposal
(F_β = βE). After each step neighbours i and j trade states with probability

    min(1, exp(F_βi(x_i) + F_βj(x_j) − F_βi(x_j) − F_βj(x_i))),

the pairs (1, 2), (3, 4), … and (2, 3), (4, 5), … in turn, which leaves the product of all p_β in place. The chain at
β = 1 is handed on; the others live for one run only. They start at the same state and take `warmup` steps at their own
temperature before the first trade, so a run leaves the target in place as far as these have forgotten the state.
Desjardins et al. keep them from one training step to the next. Diagnostics: the share of trades that were accepted.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.binary import offers_gibbs
from ebmbench.core.energy import Energy, complete, energy_and_score, fixed
from ebmbench.samplers.common.chain import Chain, SteppingSettings
from ebmbench.samplers.common.metropolis import draw_acceptance, select
from ebmbench.samplers.mala import mala

PAPER = (
    "Desjardins, Courville, Bengio, Vincent & Delalleau, Parallel Tempering for Training of Restricted Boltzmann "
    "Machines, AISTATS 2010"
)
YEAR = 2010
LINK = "https://proceedings.mlr.press/v9/desjardins10a.html"
EXAMPLE = {"steps": 5, "levels": 3, "warmup": 2, "step_size": 0.1}
STATIONARY = {"steps": 10, "levels": 3, "hottest": 0.6, "warmup": 40, "step_size": 1.0}
TRUNCATION = 2.0  # of MALA's drift, its default


class Settings(SteppingSettings):
    """`{kind: tempering, …}` wherever `params.yaml` names a sampler; the step size is MALA's, machines need none."""

    kind: Literal["tempering"] = "tempering"
    levels: int = Field(10, ge=2, description="L, temperatures")
    hottest: float = Field(0.1, gt=0, lt=1, description="β_L")
    warmup: int = Field(5, ge=0, description="steps of the copies before the first trade")
    moves_binary: ClassVar[bool] = True
    needs_machine: ClassVar[tuple[str, ...]] = ("binary",)

    @property
    def alike(self) -> bool:
        """The hot copies begin anew with each run."""
        return False

    def parts(self, most: int) -> list["Settings"]:
        """One run: cut, it would lose its copies."""
        return [self]

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        betas = torch.linspace(1, self.hottest, self.levels, dtype=torch.float64).to(x)
        x = complete(energy, x, lambda: generator)
        kind = MachineLevels if offers_gibbs(energy) else RealLevels
        levels = kind(fixed(energy), betas.repeat_interleave(len(x)), self.step_size)
        return tempering(levels, x, self.steps, self.warmup, generator)


class MachineLevels:
    """A Boltzmann machine at a temperature for each row."""

    def __init__(self, energy: Any, betas: Tensor, step_size: float) -> None:
        self.energy, self.betas = energy, betas[:, None]

    def move(self, x: Tensor, generator: Generator) -> Tensor:
        """One sweep of each row."""
        moved: Tensor = self.energy.gibbs(x, generator, self.betas)
        return moved

    def cross(self, x: Tensor, rows: Tensor) -> Tensor:
        """F of the states x at the temperatures of other rows."""
        value: Tensor = self.energy.free_energy(x, self.betas[rows])
        return value


class RealLevels:
    """Any energy at a temperature for each row."""

    def __init__(self, energy: Energy, betas: Tensor, step_size: float) -> None:
        self.energy, self.betas, self.step_size = energy, betas, step_size

    def __call__(self, x: Tensor) -> Tensor:
        """βE(x)."""
        return self.betas * self.energy(x)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """βE(x) and β·s(x)."""
        value, s = energy_and_score(self.energy, x, create_graph)
        return self.betas * value, self.betas.reshape(-1, *[1] * (x.dim() - 1)) * s

    def move(self, x: Tensor, generator: Generator) -> Tensor:
        """One proposal for each row."""
        return mala(self, x, 1, self.step_size, TRUNCATION, generator).x

    def cross(self, x: Tensor, rows: Tensor) -> Tensor:
        """F of the states x at the temperatures of other rows."""
        return self.betas[rows] * self.energy(x)


@torch.no_grad()
def tempering(levels: Any, x: Tensor, steps: int, warmup: int, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` steps; rows are chains, level by level."""
    chains, count = len(x), len(levels.betas) // len(x)
    replicas, traded, tries = x.repeat(count, *[1] * (x.dim() - 1)), torch.zeros(()), 0
    for _ in range(warmup):
        replicas = torch.cat([replicas[:chains], levels.move(replicas, generator)[chains:]])
    for step in range(steps):
        replicas = levels.move(replicas, generator)
        pairs = range(step % 2, count - 1, 2)
        if len(pairs):
            replicas, accept = trade(levels, replicas, chains, pairs, generator)
            traded, tries = traded + accept.float().mean(), tries + 1
    return Chain(replicas[:chains], {"swap_acceptance": traded / max(tries, 1)})


def trade(levels: Any, replicas: Tensor, chains: int, pairs: range, generator: Generator) -> tuple[Tensor, Tensor]:
    """Let the levels i and i + 1 trade their states, for every i in `pairs`; and which did."""
    lower = torch.cat([torch.arange(i * chains, (i + 1) * chains) for i in pairs])
    upper = lower + chains
    own, other = torch.cat([lower, upper]), torch.cat([upper, lower])
    states = replicas[own]
    gain = levels.cross(states, own) - levels.cross(states, other)
    log_ratio = gain[: len(lower)] + gain[len(lower) :]
    accept = draw_acceptance(log_ratio, replicas.dtype, generator)
    both = torch.cat([accept, accept])
    (chosen,) = select(both, [replicas[other]], [states])
    return replicas.index_put((own,), chosen), accept
