"""Seconds of training until KL(data‖model) ≤ 0.05 on `eight_gaussians`, by method and library.

Ours trains as `params.yaml` says, its learning rate falling over its budget, and is judged by its averaged weights.
The others get the same network and first weights, batch, learning rate and chains in their documented loop, with their
own moving average, and are judged by it or by the weights as they are, whichever is better. Chains of ours are
adjusted; so are theirs (torchebm: Hamiltonian Monte Carlo of one leapfrog step, which is the same). KL is ours, by
quadrature, while the clock stands; the moments at which it is computed are `FACTOR` apart.
"""

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import nn

from benchmarks.speed import problems
from benchmarks.speed.contender import Contender, Learner
from benchmarks.speed.provenance import ROOT
from benchmarks.speed.table import NONE, markdown
from ebmbench.core.params import load_params
from ebmbench.core.registry import load
from ebmbench.core.sections import Metrics
from ebmbench.data.eight_gaussians import density
from ebmbench.metrics.evaluation import Evaluation, Subject, Unavailable
from ebmbench.stages.jobs import cell_jobs
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged

GOAL = 0.05
FIRST, FACTOR = 0.5, 1.15  # seconds until the first look, and from look to look
BLOCK = 10  # steps between looks at the clock
CELLS = 128  # of less than half a mode’s deviation: the midpoint rule is exact to six digits there
METHODS = ("mle", "cd", "pcd", "dsm", "ssm", "nce")

Judge = Callable[[nn.Module], float]


@dataclass(frozen=True)
class Reached:
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
    """Of a network in the plane; infinite if no grid holds its mass, and not a number if its energies are not."""
    facts, data = problems.eight_gaussians()
    subject = Subject(copy.deepcopy(network).double(), None)
    try:
        value = load("metrics", "kl").compute(Evaluation(subject, data[:2], density(), facts, Metrics(cells=CELLS)))
    except Unavailable:
        return math.inf
    return math.nan if value.value is None else value.value


def reach(learner: Learner, limit: float, judge: Judge = kl, clock: Callable[[], float] = time.perf_counter) -> Reached:
    """Train until the goal, the limit in seconds, the end of the learner's own schedule, or divergence."""
    spent, steps, look, found = 0.0, 0, FIRST, math.inf
    while True:
        start = clock()
        try:
            learner.advance(BLOCK)
        except Diverged:
            return Reached(spent, steps, math.nan, f"diverged at {spent:.0f} s")
        spent, steps = spent + clock() - start, steps + BLOCK
        if spent < look and not learner.done:
            continue
        look = FACTOR * spent
        found = min((judge(network) for network in learner.networks()), key=lambda value: (math.isnan(value), value))
        if found <= GOAL:
            return Reached(spent, steps, found)
        if math.isnan(found):
            return Reached(spent, steps, found, f"diverged by {spent:.0f} s")
        if learner.done:
            return Reached(spent, steps, found, f"not within its budget, {spent:.0f} s")
        if spent >= limit:
            return Reached(spent, steps, found, f"not within {limit:g} s")


def reached(entered: list[Contender], limit: float, seeds: int) -> Iterator[tuple[str, str, list[Reached]]]:
    """Method, contender and how its trainings went, one for each seed."""
    for method in METHODS:
        found: dict[str, list[Reached]] = {one.name: [] for one in entered}
        for seed in range(seeds):
            for one in entered:
                learner = one.learner(job(method, seed), problems.eight_gaussians()[1], average=True)
                if learner is not None:
                    found[one.name].append(reach(learner, limit))
        yield from ((method, name, runs) for name, runs in found.items())


def reaching_table(found: dict[tuple[str, str], list[Reached]]) -> str:
    """A line for each method; a cell lists its seeds."""
    names = list(dict.fromkeys(name for _, name in found))
    methods = dict.fromkeys(method for method, _ in found)
    lines = [[m, *("; ".join(map(str, found[m, name])) or NONE for name in names)] for m in methods]
    return markdown([f"KL ≤ {GOAL:g} after", *names], lines, left=1 + len(names))
