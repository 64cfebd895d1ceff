"""What a contender can be asked for. Each answer is `Work`, ready to be timed, or None if the contender lacks it."""

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Protocol

from torch import Tensor, nn

from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.config.sections import Annealing
from ebmbench.training.job import Job

OURS, BARE = "ebmbench", "bare"
# Module and class of each contender, and the package that it needs; ours is the first.
CLASSES = {
    "ours.Ours": "ebmbench",
    "bare.Bare": "torch",
    "with_torchebm.Torchebm": "torchebm",
    "with_ebmkit.Ebmkit": "ebm",
}


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
    """One way to do the work. A method that is not overridden is a feature that the contender lacks."""

    name = ""

    def langevin(self, problem: Problem) -> Work | None:
        """Steps of x ← x − ½η∇E + √η·ε."""
        return None

    def mala(self, problem: Problem) -> Work | None:
        """The same steps, accepted or rejected by Metropolis' rule."""
        return None

    def learner(self, job: Job, data: Tensor, average: bool = False) -> Learner | None:
        """The training that a job describes; with `average` also averaged weights, if the contender has a choice."""
        return None

    def annealing(self, problem: Problem, settings: Annealing) -> Work | None:
        """Whole runs of annealed importance sampling, forward."""
        return None

    def log_z(self, problem: Problem, cells: int) -> Work | None:
        """log Z in the plane, on a grid of cells²."""
        return None


def contenders() -> Iterator[Contender]:
    """Ours, the bare loop, and the other libraries that are installed."""
    for path, package in CLASSES.items():
        if importlib.util.find_spec(package) is not None:
            module, _, name = path.partition(".")
            yield getattr(importlib.import_module(f"benchmarks.speed.contenders.{module}"), name)()
