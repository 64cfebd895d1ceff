"""What is measured, a row of the table each: one more entry is one more row."""

import fnmatch
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.speed import problems
from benchmarks.speed.contender import Contender
from benchmarks.speed.timing import Work
from ebmbench.config.registry import load
from ebmbench.config.sections import Annealing, Training
from ebmbench.training.job import Job

CHAIN = {"kind": "langevin", "step_size": 0.0025}
STEPS = 20  # of a chain: what training takes
ENDLESS = 10**15  # passes: the learning rate does not fall while it is measured

# Methods of ours, and how they are set for a step of training to be the same work for everybody.
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "mle": ("mle", {"sampler": {**CHAIN, "steps": 20}}),
    "cd": ("cd", {"sampler": {**CHAIN, "steps": 10}}),
    "pcd": ("cd", {"sampler": {**CHAIN, "steps": 10}, "persistent": True}),
    "dsm": ("dsm", {}),
    "ssm": ("ssm", {}),
    "nce": ("nce", {}),
}
DETAILS = {"mle": "20 Langevin steps from a buffer", "cd": "10 Langevin steps from data", "pcd": "10, persistent"}


@dataclass(frozen=True)
class Row:
    """Asks a contender for work; a unit of that work is `per` of what the table calls `unit`."""

    name: str
    unit: str
    ask: Callable[[Contender], Work | None]
    per: int = 1


def rows(pattern: str = "*") -> Iterator[Row]:
    """All rows, or those whose name holds the pattern (case does not matter; * and ? stand for anything)."""
    found = [*chain_rows(), *training_rows(), *metric_rows()]
    return (row for row in found if fnmatch.fnmatch(row.name.lower(), f"*{pattern.lower()}*"))


def chain_rows() -> Iterator[Row]:
    """Samplers, on every network."""
    sizes = {
        "MLP 2-D, batch 128": (problems.mlp_plane, 128),
        "MLP 2-D, batch 256": (problems.mlp_plane, 256),
        "MLP digits, batch 64": (problems.mlp_digits, 64),
        "tiny ConvNet 28×28, batch 64": (problems.tiny, 64),
        "ConvNet A 28×28, batch 32": (problems.convnet, 32),
    }
    for name, (pose, batch) in sizes.items():
        yield Row(
            f"Langevin, {name}", "step", lambda one, pose=pose, batch=batch: chains(one.langevin(pose(batch))), STEPS
        )
    yield Row("MALA, MLP 2-D, batch 256", "step", lambda one: chains(one.mala(problems.mlp_plane(256))), STEPS)


def chains(steps: Work | None) -> Work | None:
    """A unit is a whole chain, with all that is done once for it."""
    return None if steps is None else lambda count: [steps(STEPS) for _ in range(count)]


def training_rows() -> Iterator[Row]:
    """Whole training steps on MLP 2-D, batch 256."""
    for name in TRAINED:
        detail = f" ({DETAILS[name]})" if name in DETAILS else ""
        yield Row(f"training step, {name}{detail}", "step", partial(_steps, name))


def _steps(name: str, one: Contender) -> Work | None:
    learner = one.learner(job(name), problems.eight_gaussians()[1])
    return None if learner is None else learner.advance


def job(name: str, seed: int = 0) -> Job:
    """A training without end, at a learning rate that suits all."""
    method, settings = TRAINED[name]
    training, model = Training(budget=ENDLESS), load("models", "mlp").Settings(width=64, layers=3)
    checked = load("methods", method).Settings(learning_rate=1e-3, **settings)
    return Job(method, checked, {}, seed, training, model, problems.eight_gaussians()[0])


def metric_rows() -> Iterator[Row]:
    """What judging a network takes."""
    ais, plane = Annealing(), problems.mlp_trained
    per = ais.chains * ais.temperatures
    name = f"AIS, MLP 2-D, {ais.chains} chains, {ais.temperatures} temperatures"
    yield Row(name, "chain·transition", lambda one: one.annealing(plane(), ais), per)
    yield Row("log Z, MLP 2-D, 512² grid", "log Z", lambda one: one.log_z(plane(), 512))
