"""Seconds of training until KL(data‖model) ≤ 0.05 on `eight_gaussians`, by method and library.

Ours trains as `params.yaml` says: its learning rate falls over its budget, and its averaged weights are judged. The
others get the same network, first weights, batch, learning rate and chains in their documented loop, with their own
moving average; the better of averaged and plain weights is judged. All chains are adjusted (torchebm: Hamiltonian Monte
Carlo of one leapfrog step, which is the same). KL is computed by our quadrature while the clock is stopped, at moments
that are a factor of `FACTOR` apart. The bare loop does not take part: it has no adjusted chains to train with.
"""

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from benchmarks.settings import Settings
from benchmarks.speed import problems
from benchmarks.speed.contenders.contender import BARE, Contender, Learner, contenders
from benchmarks.tables import NONE, Section, markdown_table, show_progress
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
    """How a training went: seconds, steps, the last KL, and whether it diverged."""

    seconds: float
    steps: int
    kl: float
    diverged: bool = False

    def __str__(self) -> str:
        """For a table."""
        if self.diverged:
            return f"diverged after {self.seconds:.0f} s"
        if self.kl <= GOAL:
            return f"**{self.seconds:.1f} s** ({self.steps} steps)"
        return f"no: KL {self.kl:.2g} after {self.seconds:.0f} s"


def make_job(method: str, seed: int) -> Job:
    """A run of `params.yaml` on `eight_gaussians`; pcd is cd with persistent chains."""
    params, (facts, _) = load_params(ROOT), problems.eight_gaussians()
    found = next(cell_jobs(params, "cd" if method == "pcd" else method, facts))
    settings = found.settings.model_copy(update={"persistent": True} if method == "pcd" else {})
    return Job(found.method, settings, {}, seed, found.training, found.model, facts)


def compute_kl(network: nn.Module) -> float:
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
    """One training on its way: its `seconds` and `steps` so far, and its `result` once it has ended."""

    def __init__(
        self, learner: Learner, limit: float, judge: Judge = compute_kl, clock: Clock = time.perf_counter
    ) -> None:
        self.learner, self.limit, self.judge, self.clock = learner, limit, judge, clock
        self.seconds, self.steps, self.look = 0.0, 0, FIRST
        self.result: RaceResult | None = None

    def advance(self) -> None:
        """Train until the next look is due, then compute KL."""
        try:
            self._train()
        except Diverged:
            return self._end(math.nan)
        self.look = FACTOR * self.seconds
        found = [self.judge(network) for network in self.learner.networks()]
        best = min((value for value in found if not math.isnan(value)), default=math.nan)
        if math.isnan(best) or best <= GOAL or self.learner.done or self.seconds >= self.limit:
            self._end(best)

    def _train(self) -> None:
        while self.seconds < min(self.look, self.limit) and not self.learner.done:
            start = self.clock()
            self.learner.advance(BLOCK)
            self.seconds, self.steps = self.seconds + self.clock() - start, self.steps + BLOCK

    def _end(self, kl: float) -> None:
        self.result = RaceResult(self.seconds, self.steps, kl, math.isnan(kl))


def run_race(entered: list[Contender], method: str, seed: int, limit: float) -> dict[str, RaceResult]:
    """Train one method with every contender that has it; they take turns from look to look."""
    job, data = make_job(method, seed), problems.eight_gaussians()[1]
    learners = {one.name: one.learner(job, data, average=True) for one in entered}
    races = {name: Race(learner, limit) for name, learner in learners.items() if learner is not None}
    while going := [race for race in races.values() if race.result is None]:
        for race in going:
            race.advance()
    results = {name: race.result for name, race in races.items() if race.result is not None}
    show_progress(f"{method}, seed {seed}: " + ", ".join(f"{name} {result}" for name, result in results.items()))
    return results


def measure(settings: Settings) -> Iterator[Section]:
    """A table with a line for each method and seed."""
    torch.set_num_threads(1)
    libraries, limit, seeds = [one for one in contenders() if one.name != BARE], settings.limit, settings.seeds
    found = {(m, seed): run_race(libraries, m, seed, limit) for m in METHODS for seed in range(seeds)}
    text = f"""Training of `eight_gaussians` until KL(data‖model) ≤ {GOAL:g}, for at most {limit:g} s. Ours stops at its
budget in `params.yaml`. Averages of weights decide here as much as speed does."""
    yield Section(f"Time to KL ≤ {GOAL:g}", f"{text}\n\n{render_races(found, [one.name for one in libraries])}")


def render_races(found: Mapping[tuple[str, int], Mapping[str, RaceResult]], names: list[str]) -> str:
    """The table of all races."""
    seeds = len({seed for _, seed in found})
    lines = [
        [f"{method}, seed {seed}" if seeds > 1 else method, *(str(results.get(name, NONE)) for name in names)]
        for (method, seed), results in found.items()
    ]
    return markdown_table(["", *names], lines, left=1 + len(names))
