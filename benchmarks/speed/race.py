"""Seconds of training until KL(data‖model) ≤ 0.05 on `eight_gaussians`, by method and library.

Ours trains as `params.yaml` says, its learning rate falling over its budget, and is judged by its averaged weights.
The others get the same network and first weights, batch, learning rate and chains in their documented loop, with their
own moving average, and are judged by it or by the weights as they are, whichever is better. Chains of ours are
adjusted; so are theirs (torchebm: Hamiltonian Monte Carlo of one leapfrog step, which is the same). KL is ours, by
quadrature, while the clock stands; the moments at which it is computed are a factor of `FACTOR` apart.
"""

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from benchmarks.speed import problems
from benchmarks.speed.contender import Contender, Learner
from benchmarks.speed.table import NONE, markdown_table
from ebmbench.config.params import load_params
from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics
from ebmbench.data.eight_gaussians import density
from ebmbench.experiment.sweep import cell_jobs
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged

ROOT = Path(__file__).parents[2]
GOAL = 0.05
FIRST, FACTOR = 0.5, 1.15  # seconds until the first look, and from look to look
BLOCK = 10  # steps between looks at the clock
CELLS = 128  # of less than half a mode's deviation: the midpoint rule is exact to six digits there
METHODS = ("mle", "cd", "pcd", "dsm", "ssm", "nce")

Judge = Callable[[nn.Module], float]
Clock = Callable[[], float]


@dataclass(frozen=True)
class RaceResult:
    """How a training went: seconds and steps, the last KL, and what stopped it."""

    seconds: float
    steps: int
    kl: float
    end: str = ""

    def __str__(self) -> str:
        """For a table."""
        if not self.end:
            return f"{self.seconds:.1f} s ({self.steps} steps)"
        return f"{self.end} (KL {self.kl:.2g})" if math.isfinite(self.kl) else self.end


def job(method: str, seed: int) -> Job:
    """A run of `params.yaml` on `eight_gaussians`; pcd is cd with persistent chains."""
    params, (facts, _) = load_params(ROOT), problems.eight_gaussians()
    found = next(cell_jobs(params, "cd" if method == "pcd" else method, facts))
    settings = found.settings.model_copy(update={"persistent": True} if method == "pcd" else {})
    return Job(found.method, settings, {}, seed, found.training, found.model, facts)


def kl(network: nn.Module) -> float:
    """KL of a network in the plane; infinite if no grid holds its mass, NaN if its energies are not finite."""
    facts, data = problems.eight_gaussians()
    subject = Subject(copy.deepcopy(network).double(), None)
    if not torch.isfinite(network(data[:1000])).all():
        return math.nan
    try:
        value = load("metrics", "kl").compute(Evaluation(subject, data[:2], density(), facts, Metrics(cells=CELLS)))
    except Unavailable:
        return math.inf
    return math.nan if value.value is None else value.value


class Race:
    """One training on its way: `seconds` and `steps` so far, and how it ended, once it has."""

    def __init__(self, learner: Learner, limit: float, judge: Judge = kl, clock: Clock = time.perf_counter) -> None:
        self.learner, self.limit, self.judge, self.clock = learner, limit, judge, clock
        self.seconds, self.steps, self.look = 0.0, 0, FIRST
        self.ended: RaceResult | None = None

    def advance(self) -> None:
        """Train until the next look is due, then compute KL."""
        try:
            self._train()
        except Diverged:
            return self._end(math.nan, "diverged at")
        self.look = FACTOR * self.seconds
        found = [self.judge(network) for network in self.learner.networks()]
        best = min((value for value in found if not math.isnan(value)), default=math.nan)
        if best <= GOAL:
            self._end(best)
        elif math.isnan(best):
            self._end(best, "diverged by")
        elif self.learner.done:
            self._end(best, "not within its budget of")
        elif self.seconds >= self.limit:
            self._end(best, "not within")

    def _train(self) -> None:
        while self.seconds < min(self.look, self.limit) and not self.learner.done:
            start = self.clock()
            self.learner.advance(BLOCK)
            self.seconds, self.steps = self.seconds + self.clock() - start, self.steps + BLOCK

    def _end(self, found: float, how: str = "") -> None:
        self.ended = RaceResult(self.seconds, self.steps, found, how and f"{how} {self.seconds:.0f} s")


def run_races(entered: list[Contender], limit: float, seeds: int) -> Iterator[tuple[str, str, list[RaceResult]]]:
    """Method, contender and how its trainings went, one for each seed; contenders take turns from look to look."""
    data = problems.eight_gaussians()[1]
    for method in METHODS:
        found: dict[str, list[RaceResult]] = {one.name: [] for one in entered}
        for seed in range(seeds):
            learners = {one.name: one.learner(job(method, seed), data, average=True) for one in entered}
            races = {name: Race(learner, limit) for name, learner in learners.items() if learner is not None}
            while going := [race for race in races.values() if race.ended is None]:
                for race in going:
                    race.advance()
            for name, race in races.items():
                assert race.ended is not None
                found[name].append(race.ended)
        yield from ((method, name, runs) for name, runs in found.items())


def render_races(found: dict[tuple[str, str], list[RaceResult]]) -> str:
    """A line for each method; a cell lists its seeds."""
    names = list(dict.fromkeys(name for _, name in found))
    methods = dict.fromkeys(method for method, _ in found)
    lines = [[m, *("; ".join(map(str, found[m, name])) or NONE for name in names)] for m in methods]
    return markdown_table([f"KL ≤ {GOAL:g} after", *names], lines, left=1 + len(names))
