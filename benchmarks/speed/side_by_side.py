"""Side by side: the same work by ebmbench, by the bare loop and by other libraries. A `Row` is a line of a table."""

import fnmatch
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from benchmarks.settings import Settings
from benchmarks.speed import problems
from benchmarks.speed.contenders.contender import BARE, OURS, Contender, contenders
from benchmarks.speed.timing import Work, time_in_turns
from benchmarks.tables import NONE, Section, format_time, markdown_table, ratio, show_progress
from ebmbench.config.registry import load
from ebmbench.config.sections import Annealing, Training
from ebmbench.training.job import Job

CHAIN = {"kind": "langevin", "step_size": 0.0025}
STEPS = 20  # of a chain: what training takes
ENDLESS = 10**15  # passes: the learning rate does not fall while it is measured
CHAINS, TRAINING, JUDGING = "Chains, per step", "Training on MLP 2-D, per step of batch 256", "Judging MLP 2-D"

# Our methods, with settings that make a training step the same work for everybody.
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "mle": ("mle", {"sampler": {**CHAIN, "steps": 20}}),
    "cd": ("cd", {"sampler": {**CHAIN, "steps": 10}}),
    "pcd": ("cd", {"sampler": {**CHAIN, "steps": 10}, "persistent": True}),
    "dsm": ("dsm", {}),
    "ssm": ("ssm", {}),
    "nce": ("nce", {}),
}
DETAILS = {"mle": "20 Langevin steps", "cd": "10 Langevin steps", "pcd": "10 persistent steps"}

Times = Mapping[str, Sequence[float]]
"""Seconds per unit by contender, one for each round."""


@dataclass(frozen=True)
class Row:
    """A line of the table `group`. `ask` gets work from a contender; one unit of it counts as `per` in the table."""

    group: str
    name: str
    ask: Callable[[Contender], Work | None]
    per: int = 1


def list_rows(pattern: str = "*") -> list[Row]:
    """All rows, or those whose group or name holds the pattern (case does not matter; * and ? stand for anything)."""
    found = [*chain_rows(), *training_rows(), *judging_rows()]
    return [row for row in found if fnmatch.fnmatch(f"{row.group}: {row.name}".lower(), f"*{pattern.lower()}*")]


def chain_rows() -> Iterator[Row]:
    """Samplers, on every network."""
    sizes = {
        "MLP 2-D, batch 128": (problems.mlp_plane, 128),
        "MLP 2-D, batch 256": (problems.mlp_plane, 256),
        "MLP digits, batch 64": (problems.mlp_digits, 64),
        "tiny ConvNet, batch 64": (problems.tiny, 64),
        "ConvNet A, batch 32": (problems.convnet, 32),
    }
    for name, (pose, batch) in sizes.items():
        ask = partial(_langevin, pose, batch)
        yield Row(CHAINS, f"Langevin, {name}", ask, STEPS)
    yield Row(CHAINS, "MALA, MLP 2-D, batch 256", lambda one: whole_chains(one.mala(problems.mlp_plane(256))), STEPS)


def _langevin(pose: Callable[[int], problems.Problem], batch: int, one: Contender) -> Work | None:
    return whole_chains(one.langevin(pose(batch)))


def whole_chains(steps: Work | None) -> Work | None:
    """Work whose unit is a whole chain, with all that is done once for it."""
    return None if steps is None else lambda count: [steps(STEPS) for _ in range(count)]


def training_rows() -> Iterator[Row]:
    """Whole training steps."""
    for name in TRAINED:
        yield Row(TRAINING, f"{name}, {DETAILS[name]}" if name in DETAILS else name, partial(_train, name))


def _train(name: str, one: Contender) -> Work | None:
    learner = one.learner(make_job(name), problems.eight_gaussians()[1])
    return None if learner is None else learner.advance


def make_job(name: str, seed: int = 0) -> Job:
    """A training without end, at one learning rate for all."""
    method, settings = TRAINED[name]
    training, model = Training(budget=ENDLESS), load("models", "mlp").Settings(width=64, layers=3)
    checked = load("methods", method).Settings(learning_rate=1e-3, **settings)
    return Job(method, checked, {}, seed, training, model, problems.eight_gaussians()[0])


def judging_rows() -> Iterator[Row]:
    """What judging a network takes."""
    ais, problem = Annealing(), problems.mlp_trained
    per = ais.chains * ais.temperatures
    yield Row(JUDGING, "AIS, per chain and temperature", lambda one: one.annealing(problem(), ais), per)
    yield Row(JUDGING, "log Z on a grid of 512²", lambda one: one.log_z(problem(), 512))


def measure(settings: Settings) -> Iterator[Section]:
    """Time all rows and show them in a table for each group."""
    torch.set_num_threads(1)
    entered, rounds = list(contenders()), settings.rounds
    found = {row: time_row(row, entered, rounds) for row in list_rows(settings.rows)}
    names = [one.name for one in entered]
    tables = [
        render_times(group, {row.name: times for row, times in found.items() if row.group == group}, names)
        for group in dict.fromkeys(row.group for row in found)
    ]
    text = f"""Median time of {OURS}, then how many times as long the others take: the median over {rounds} rounds
(quartiles). Above 1, {OURS} is faster; **{NONE}**: there is no such feature."""
    training = {row.name: times for row, times in found.items() if row.group == TRAINING}
    yield Section("Side by side", "\n\n".join([text, *tables]), make_headline(training))


def time_row(row: Row, entered: list[Contender], rounds: int) -> Times:
    """Seconds per unit of a row."""
    works = {one.name: work for one in entered if (work := row.ask(one)) is not None}
    times = time_in_turns(works, rounds)
    times = {name: [value / row.per for value in found] for name, found in times.items()}
    shown = ", ".join(f"{name} {format_time(statistics.median(found))}" for name, found in times.items())
    show_progress(f"{row.group}: {row.name}: {shown}")
    return times


def render_times(group: str, found: Mapping[str, Times], names: Sequence[str]) -> str:
    """A table with a line for each row: our time, and the others' times over ours."""
    others = [name for name in names if name != OURS]
    lines = []
    for row, times in found.items():
        ratios = [str(ratio(times[name], times[OURS])) if name in times else NONE for name in others]
        lines.append([row, format_time(statistics.median(times[OURS])), *ratios])
    return markdown_table([group, OURS, *others], lines)


def make_headline(training: Mapping[str, Times]) -> str:
    """The training steps of the others over ours, in one sentence."""
    found: dict[str, list[float]] = {}
    for times in training.values():
        for name in times:
            found.setdefault(name, []).append(ratio(times[name], times[OURS]).median)
    found.pop(OURS, None)
    if not found:
        return ""
    words = {name: "a loop written by hand" if name == BARE else name for name in found}
    each = [f"**{statistics.median(values):.2f}** times as long in {words[name]}" for name, values in found.items()]
    return f"Compared with {OURS}, a training step takes {join_words(each)} (median of {len(training)} methods)."


def join_words(words: Sequence[str]) -> str:
    """The words with commas, and an "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
