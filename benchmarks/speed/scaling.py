"""How the cost per unit of work grows with load, and which operators a training step spends its time in.

Batch and dimension: Langevin steps of MLP 64×3, per event·step and per event·step·dimension. Chains: steps of the
adjusted sampler, per chain·step. Seeds: training runs side by side in one process, per run·step. The cost should fall
while a fixed cost per step is spread over more events, and then stay.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.settings import Settings
from benchmarks.speed import problems
from benchmarks.speed.contenders.contender import OURS, Contender, contenders
from benchmarks.speed.side_by_side import STEPS, make_job, whole_chains
from benchmarks.speed.timing import Work, time_in_turns
from benchmarks.tables import Section, format_time, markdown_table, ratio, show_progress

BATCHES = (32, 128, 512, 1024, 4096)
DIMENSIONS = (2, 8, 32, 128, 784)
CHAINS = (200, 1000, 5000, 20_000)
SEEDS = (1, 2, 4, 8)
PROFILED_STEPS, WARM_STEPS, TOP_OPERATORS = 100, 20, 10


@dataclass(frozen=True)
class Load:
    """One quantity that grows: its sizes, the unit of cost, how many units a size has, and work at a size."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    count: Callable[[int], int]
    ask: Callable[[Contender, int], Work | None]


def list_loads() -> Iterator[Load]:
    """All quantities that grow."""

    def pose(dimension: int, batch: int) -> problems.Problem:
        return problems.make_problem("mlp", {"width": 64, "layers": 3}, problems.vectors(dimension), batch)

    def steps(size: int) -> int:
        return STEPS * size

    yield Load("batch", "event·step", BATCHES, steps, lambda one, n: whole_chains(one.langevin(pose(2, n))))
    per = "event·step·dimension"
    yield Load(
        "dimension", per, DIMENSIONS, lambda n: steps(256 * n), lambda one, n: whole_chains(one.langevin(pose(n, 256)))
    )
    yield Load("chains", "chain·step", CHAINS, steps, lambda one, n: whole_chains(one.mala(pose(2, n))))
    yield Load("seeds", "run·step", SEEDS, lambda n: n, train_seeds)


def train_seeds(one: Contender, runs: int) -> Work | None:
    """A step of mle in each of several runs."""
    data = problems.eight_gaussians()[1]
    learners = [one.learner(make_job("mle", seed), data) for seed in range(runs)]

    def work(steps: int) -> None:
        for _ in range(steps):
            for learner in learners:
                learner.advance(1)

    return None if None in learners else work


def measure(settings: Settings) -> Iterator[Section]:
    """A table for each quantity that grows, and the profile."""
    torch.set_num_threads(1)
    ours, tables = next(contenders()), []
    for load in list_loads():
        tables.append(render_scaling(load, ours, settings.rounds))
        show_progress(f"scaling by {load.name}")
    yield Section(f"Scaling of {OURS}", "\n\n".join(tables))
    yield profile_step(ours)


def render_scaling(load: Load, one: Contender, rounds: int) -> str:
    """The table of one quantity: sizes take turns, and each is compared with the size before it."""
    works = {str(size): work for size in load.sizes if (work := load.ask(one, size)) is not None}
    times = time_in_turns(works, rounds)
    per = {size: [value / load.count(int(size)) for value in found] for size, found in times.items()}
    lines, before = [], None
    for size, found in per.items():
        growth = "" if before is None else str(ratio(found, per[before]))
        lines.append([size, format_time(statistics.median(found)), growth])
        before = size
    return markdown_table([load.name, f"per {load.unit}", "over the line above"], lines)


def profile_step(one: Contender, name: str = "mle") -> Section:
    """Torch's operators that take most of a training step, and the step's time without the profiler."""
    learner = one.learner(make_job(name), problems.eight_gaussians()[1])
    assert learner is not None
    learner.advance(WARM_STEPS)
    start = time.perf_counter()
    learner.advance(PROFILED_STEPS)
    whole = (time.perf_counter() - start) / PROFILED_STEPS
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        learner.advance(PROFILED_STEPS)
    events = [event for event in profiler.key_averages() if event.device_type == DeviceType.CPU]
    events.sort(key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    lines = []
    for event in events[:TOP_OPERATORS]:
        own = event.self_cpu_time_total
        calls, milliseconds = event.count / PROFILED_STEPS, own / PROFILED_STEPS / 1e3
        lines.append([f"`{event.key}`", f"{calls:.1f}", f"{milliseconds:.3f}", f"{own / total:.0%}"])
    operators = f"under the profiler, operators take {total / PROFILED_STEPS / 1e3:.2f} ms"
    table = markdown_table(["operator", "calls a step", "own ms a step", "share of operators"], lines)
    text = f"A step of {name} takes {1e3 * whole:.2f} ms; {operators}.\n\n{table}"
    return Section("Profile of a training step", text)
