"""How cost per unit grows with load: it should not, beyond what a fixed cost per step is spread over.

Batch and dimension: Langevin steps of MLP 64×3, per event·step and per event·step·dimension. Chains: steps of the
adjusted sampler of judgement, per chain·step. Seeds: training runs side by side in one process, per run·step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.speed import problems, rows
from benchmarks.speed.contender import Contender
from benchmarks.speed.table import format_time, markdown_table
from benchmarks.speed.timing import Work, ratio, spread, time_in_turns

BATCHES = (32, 128, 512, 1024, 4096)
DIMENSIONS = (2, 8, 32, 128, 784)
CHAINS = (200, 1000, 5000, 20_000)
SEEDS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Load:
    """One quantity that grows: its sizes, the unit of cost, how many units a size has, and work at a size."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    count: Callable[[int], int]
    ask: Callable[[Contender, int], Work | None]


def loads() -> Iterator[Load]:
    """All that may grow."""

    def pose(dimension: int, batch: int) -> problems.Problem:
        return problems.posed("mlp", {"width": 64, "layers": 3}, problems.vectors(dimension), batch)

    def steps(size: int) -> int:
        return rows.STEPS * size

    yield Load("batch", "event·step", BATCHES, steps, lambda one, n: rows.chains(one.langevin(pose(2, n))))
    per = "event·step·dimension"
    yield Load(
        "dimension", per, DIMENSIONS, lambda n: steps(256 * n), lambda one, n: rows.chains(one.langevin(pose(n, 256)))
    )
    yield Load("chains", "chain·step", CHAINS, steps, lambda one, n: rows.chains(one.mala(pose(2, n))))
    yield Load("seeds", "run·step", SEEDS, lambda n: n, side_by_side)


def side_by_side(one: Contender, runs: int) -> Work | None:
    """A step of mle in each of several runs."""
    data = problems.eight_gaussians()[1]
    learners = [one.learner(rows.job("mle", seed), data) for seed in range(runs)]

    def work(steps: int) -> None:
        for _ in range(steps):
            for learner in learners:
                learner.advance(1)

    return None if None in learners else work


def render_scaling(load: Load, one: Contender, rounds: int) -> str:
    """A table of one quantity for one contender: sizes take turns, and each is compared with the size before it."""
    works = {str(size): work for size in load.sizes if (work := load.ask(one, size)) is not None}
    times = time_in_turns(works, rounds)
    per = {size: [value / load.count(int(size)) for value in found] for size, found in times.items()}
    lines, before = [], None
    for size, found in per.items():
        grown = "" if before is None else "{1:.2f} ({0:.2f}–{2:.2f})".format(*ratio(found, per[before]))
        lines.append([size, format_time(spread(found)), grown])
        before = size
    return markdown_table([load.name, f"per {load.unit}", "over the line above"], lines)
