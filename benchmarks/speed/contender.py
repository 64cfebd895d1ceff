"""What a contender can be asked for. Each answer is some `Work`, ready to be timed, or None: it has no such thing."""

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Protocol

from torch import Tensor, nn

from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.config.sections import Annealing
from ebmbench.training.job import Job

# Modules of this package that hold a class `Contestant`, and what each needs; ours is the first.
MODULES = {"ours": "ebmbench", "bare": "torch", "with_torchebm": "torchebm", "with_ebmkit": "ebm"}
OURS, BARE = "ebmbench", "bare"


class Learner(Protocol):
    """A training in progress."""

    def advance(self, steps: int) -> object:
        """Take optimiser steps."""

    def networks(self) -> list[nn.Module]:
        """The networks that may be judged: with averaged weights, as trained, or both."""

    @property
    def done(self) -> bool:
        """Whether its own schedule has ended."""


class Contender:
    """A way of doing all this. What is not overridden it does not have."""

    name = ""

    def langevin(self, problem: Problem) -> Work | None:
        """Steps of x ← x − ½η∇E + √η·ε."""
        return None

    def mala(self, problem: Problem) -> Work | None:
        """The same, accepted or refused by Metropolis' rule."""
        return None

    def learner(self, job: Job, data: Tensor, average: bool = False) -> Learner | None:
        """The training that a job of ours describes; with `average`, averaged weights are kept, if that is a choice."""
        return None

    def annealing(self, problem: Problem, settings: Annealing) -> Work | None:
        """Whole runs of annealed importance sampling, forward."""
        return None

    def log_z(self, problem: Problem, cells: int) -> Work | None:
        """log Z in the plane, on a grid of cells²."""
        return None


def contenders() -> Iterator[Contender]:
    """Ours, the bare loop, and those of the other libraries that are installed."""
    for module, needed in MODULES.items():
        if importlib.util.find_spec(needed) is not None:
            yield importlib.import_module(f"benchmarks.speed.{module}").Contestant()
