"""A whole run: start or go on, save now and then, and end as a finished folder, whatever the outcome.

The folder holds `model.safetensors` (averaged weights and the method's state, with the job in the header),
`status.json`, `history.csv` (all three the same bytes for the same job) and `cost.json` (seconds and memory,
which are not).
"""

import csv
import resource
import sys
import time
from pathlib import Path
from typing import Any

from torch import Tensor
from tqdm import tqdm

from ebmbench.core import checkpoint
from ebmbench.core.errors import UserError
from ebmbench.core.files import replacing, write_json
from ebmbench.core.registry import load
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged, Trainer

SAVE_SECONDS = 5.0


def train(job: Job, data: Tensor, workshop: Path, result: Path, save_every: float = SAVE_SECONDS) -> None:
    """Train a job, keeping checkpoints in `workshop`, and fill the folder `result`."""
    if (reason := load("methods", job.method).Method.skip(job.settings, job.facts)) is not None:
        return _leave(job, result, {"status": "skipped", "reason": reason}, {}, 0.0)
    trainer = Trainer(job, data)
    spent = _resume(trainer, workshop)
    clock = time.perf_counter()
    outcome: dict[str, Any] = {"status": "ok", "reason": None}
    try:
        _spend(trainer, workshop, save_every, lambda: spent + time.perf_counter() - clock)
    except Diverged as error:
        outcome = {"status": "diverged", "reason": str(error)}
    seconds = spent + time.perf_counter() - clock
    trainer.finish()
    outcome |= {"step": trainer.step, "learned": trainer.method.learned(), **trainer.meter.counts.as_dict()}
    tensors = checkpoint.prefixed("model", trainer.model.state_dict())
    tensors |= checkpoint.prefixed("method", trainer.method.state_dict())
    checkpoint.save(result / "model.safetensors", tensors, {**job.header(), "outcome": outcome})
    _leave(job, result, outcome, trainer.history, seconds)


def _leave(job: Job, result: Path, outcome: dict[str, Any], history: dict[str, list[float]], seconds: float) -> None:
    """Write what is said of a run, beside its weights."""
    names = {"digest": job.digest(), "settings": job.varied, "seed": job.seed, "label": job.label}
    write_json(result / "status.json", {**names, **outcome})
    write_history(result / "history.csv", job.label, history)
    write_json(result / "cost.json", {"seconds": round(seconds, 3), "peak_memory_mb": peak_memory()})


def write_history(path: Path, label: str, history: dict[str, list[float]]) -> None:
    """A CSV with a column `label`, then the columns that the method logs."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["label", *(history or ["step", "passes", "loss"])])
        writer.writerows([label, *row] for row in zip(*history.values(), strict=True))


def peak_memory() -> float:
    """The most memory this process has held, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)


def _spend(trainer: Trainer, workshop: Path, save_every: float, seconds: Any) -> None:
    budget, counts = trainer.job.training.budget, trainer.meter.counts
    saved = time.perf_counter()
    # disable=None: a bar on a terminal, nothing in a log file.
    with tqdm(total=budget, initial=counts.passes, unit=" passes", unit_scale=True, disable=None) as bar:
        bar.set_description(f"{trainer.job.facts.name} {trainer.job.method} {trainer.job.label}")
        while trainer.progress < 1:
            trainer.advance()
            bar.update(trainer.meter.counts.passes - bar.n)
            if time.perf_counter() - saved >= save_every:
                tensors, header = trainer.state()
                checkpoint.save(workshop / "checkpoint.safetensors", tensors, {**header, "seconds": seconds()})
                saved = time.perf_counter()


def _resume(trainer: Trainer, workshop: Path) -> float:
    """Go on from the checkpoint if there is a whole one; the seconds that were spent before."""
    path = workshop / "checkpoint.safetensors"
    if not path.exists():
        return 0.0
    try:
        tensors, header = checkpoint.load(path)
    except UserError:
        path.unlink()
        return 0.0
    trainer.restore(tensors, header)
    return float(header["seconds"])
