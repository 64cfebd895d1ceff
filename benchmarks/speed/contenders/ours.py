"""ebmbench, by the functions that training and evaluation call.

Chains: `Settings.run` on a `Meter`, with its counts and diagnostics. A training step: `Trainer._update`, that is named
streams, the batch, the loss, the backward pass, clipping, the watch for divergence, Adam and the averaged weights.
Annealing: pilot and forward chains in float64. log Z: on a grid, and on a wider one to show that the first holds the
mass.
"""

import copy

from torch import Tensor, nn

from benchmarks.speed.contenders.contender import OURS, Contender
from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.config.registry import load
from ebmbench.config.sections import Annealing
from ebmbench.core.meter import Meter
from ebmbench.core.streams import stream
from ebmbench.metrics.common.annealing import anneal
from ebmbench.metrics.common.annealing_base import make_base
from ebmbench.metrics.common.quadrature import integrate
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer


class Ours(Contender):
    """ebmbench."""

    name = OURS

    def langevin(self, problem: Problem) -> Work:
        """Steps of our sampler."""
        return chains("langevin", problem)

    def mala(self, problem: Problem) -> Work:
        """Steps of our sampler, its drift truncated."""
        return chains("mala", problem)

    def learner(self, job: Job, data: Tensor, average: bool = False) -> "Learner":
        """A trainer, which always averages."""
        return Learner(Trainer(job, data))

    def annealing(self, problem: Problem, settings: Annealing) -> Work:
        """Pilot and forward chains; there are no samples to go back from."""
        energy, base = copy.deepcopy(problem.network).double(), make_base(problem.facts, None)
        return lambda units: [anneal(energy, base, settings, "none") for _ in range(units)]

    def log_z(self, problem: Problem, cells: int) -> Work:
        """The quadrature of all exact metrics."""
        energy = copy.deepcopy(problem.network).double()
        return lambda units: [integrate(energy, problem.facts, cells).log_z for _ in range(units)]


def chains(kind: str, problem: Problem) -> Work:
    """Steps of a sampler of ours from the problem's x."""
    settings, generator = load("samplers", kind).Settings, stream(0, "speed", kind)

    def work(steps: int) -> object:
        sampler = settings(steps=steps, step_size=problem.step_size)
        return sampler.run(Meter(problem.network), problem.x, generator)

    return work


class Learner:
    """A run of ours; its averaged weights are judged."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def advance(self, steps: int) -> None:
        """Whole updates."""
        for _ in range(steps):
            self.trainer._update()

    def networks(self) -> list[nn.Module]:
        """As the run would end now."""
        return [self.trainer.averaged()]

    @property
    def done(self) -> bool:
        """The budget is spent, and the learning rate is at zero."""
        return self.trainer.progress >= 1
