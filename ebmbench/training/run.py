"""A whole run: it starts or resumes, saves checkpoints, and ends as a finished folder, whatever the outcome.

The folder holds `model.safetensors` (averaged weights and the method's state, with the job in the header),
`status.json`, `history.csv` (all three the same bytes for the same job) and `cost.json` (seconds and memory, which
differ). With `training.snapshots`, `snapshot-<passes>.safetensors` is the averaged model after so many passes.

A run that diverges is a result: its status says step, cause and values, and its model is the last healthy state. With
`training.on_divergence: restart` it continues from that state instead, at most `training.restarts` times, which its
status counts.
"""

import math
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from torch import Tensor
from tqdm import tqdm

from ebmbench.config.registry import load
from ebmbench.core import checkpoint
from ebmbench.training.checkpoints import SHARES, Checkpoints, Clock, describe_fault
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged, Trainer
from ebmbench.workspace.files import write_csv, write_json
from ebmbench.workspace.progress import progress

SAVE_SECONDS = 5.0
LINE_SECONDS = 1.0


def train(
    job: Job,
    data: Tensor,
    workshop: Path,
    result: Path,
    save_every: float = SAVE_SECONDS,
    labels: Tensor | None = None,
) -> None:
    """Train a job, keeping checkpoints in `workshop`, and fill the folder `result`; labels are those of the data."""
    if (reason := load("methods", job.method).Method.skip(job.settings, job.facts)) is not None:
        return _write_end(job, result, {"status": "skipped", "reason": reason}, {}, Clock())
    checkpoints = Checkpoints(job, data, workshop, labels)
    trainer, clock = checkpoints.resume()
    fault = _spend(trainer, checkpoints, save_every, clock)
    while fault is not None and _may_restart(trainer):
        trainer = checkpoints.restart(trainer, fault, clock)
        fault = _spend(trainer, checkpoints, save_every, clock)
    clock.stop()
    final = trainer if fault is None else checkpoints.load_healthy(trainer)
    final.finish()
    outcome = {**_outcome(trainer, fault), "model_step": final.step, "learned": final.method.learned()}
    tensors = checkpoint.add_prefix("model", final.model.state_dict())
    tensors |= checkpoint.add_prefix("method", final.method.state_dict())
    checkpoint.save(result / "model.safetensors", tensors, {**job.header(), "outcome": outcome})
    for passes in clock.snapshots:
        shutil.copyfile(_snapshot(workshop, passes), _snapshot(result, passes))
    _write_end(job, result, outcome, trainer.history, clock)


def _may_restart(trainer: Trainer) -> bool:
    training = trainer.job.training
    return training.on_divergence == "restart" and len(trainer.faults) < training.restarts


def _outcome(trainer: Trainer, fault: Diverged | None) -> dict[str, Any]:
    """How a run ended, with its faults and counts."""
    restarts = len(trainer.faults)
    ended: dict[str, Any] = {"status": "ok", "reason": None, "faults": trainer.faults}
    if fault is not None:
        again = f"; {restarts} restart{'s' * (restarts > 1)} before" if restarts else ""
        faults = [*trainer.faults, describe_fault(fault, trainer)]
        ended = {"status": "diverged", "reason": fault.describe() + again, "faults": faults}
    return {**ended, "restarts": restarts, "step": trainer.step, **trainer.meter.counts.as_dict()}


def _write_end(job: Job, result: Path, outcome: dict[str, Any], history: dict[str, list[float]], clock: Clock) -> None:
    """Write how a run ended, its history and its cost, beside its weights."""
    names = {"digest": job.digest(), "settings": job.swept_names, "seed": job.seed, "label": job.label}
    write_json(result / "status.json", {**names, **outcome})
    write_history(result / "history.csv", job.label, history)
    write_json(result / "cost.json", {**clock.as_dict(), "peak_memory_mb": peak_memory()})


def write_history(path: Path, label: str, history: dict[str, list[float]]) -> None:
    """A CSV with a column `label`, then the columns that the method logs."""
    columns = ["label", *(history or ["step", "passes", "loss"])]
    write_csv(path, columns, ([label, *row] for row in zip(*history.values(), strict=True)))


def peak_memory() -> float:
    """The most memory this process has held, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)


def _spend(trainer: Trainer, checkpoints: Checkpoints, save_every: float, clock: Clock) -> Diverged | None:
    """Train until the budget is spent or the run diverges."""
    try:
        _advance(trainer, checkpoints, save_every, clock)
    except Diverged as fault:
        return fault
    return None


def _advance(trainer: Trainer, checkpoints: Checkpoints, save_every: float, clock: Clock) -> None:
    budget, counts = trainer.job.training.budget, trainer.meter.counts
    name = f"{trainer.job.facts.name} {trainer.job.method} {trainer.job.label}"
    first, begun = trainer.progress, time.perf_counter()
    saved = told = begun
    # disable=None: a bar on a terminal; in a log file a line for each tenth of the budget, at most one a second.
    with tqdm(total=budget, initial=counts.passes, unit=" passes", unit_scale=True, desc=name, disable=None) as bar:
        while trainer.progress < 1:
            before = trainer.progress
            trainer.advance()
            bar.set_postfix(loss=f"{trainer.history['loss'][-1]:.4g}", refresh=False)
            bar.update(trainer.meter.counts.passes - bar.n)
            progress.update(trainer.progress, trainer.step)
            if any(before < share <= trainer.progress for share in trainer.job.training.snapshots):
                _save_snapshot(trainer, checkpoints.workshop, clock)
            crossed, now = math.floor(before * SHARES) < math.floor(trainer.progress * SHARES), time.perf_counter()
            if crossed and bar.disable and now - told >= LINE_SECONDS:
                left = (now - begun) * (1 - trainer.progress) / (trainer.progress - first)
                print(f"{name}: {_describe(trainer)}, {max(0.0, left):.0f} s left", file=sys.stderr, flush=True)
                told = now
            # Not while the watch suspects a divergence: that is no state to go back to.
            if crossed and trainer.progress < 1 and not trainer.watch.since:
                checkpoints.save_healthy(trainer, clock)
            if time.perf_counter() - saved >= save_every:
                checkpoints.save(trainer, clock)
                saved = time.perf_counter()


def _describe(trainer: Trainer) -> str:
    passes, loss = trainer.meter.counts.passes, trainer.history["loss"][-1]
    return f"{min(1.0, trainer.progress):.0%}, step {trainer.step}, {passes} passes, loss {loss:.4g}"


def _save_snapshot(trainer: Trainer, workshop: Path, clock: Clock) -> None:
    """Save the averaged model as it is now."""
    passes = trainer.meter.counts.passes
    clock.snapshots[passes] = clock.seconds()
    header = {**trainer.job.header(), "passes": passes, "step": trainer.step}
    checkpoint.save(
        _snapshot(workshop, passes), checkpoint.add_prefix("model", trainer.averaged().state_dict()), header
    )


def _snapshot(folder: Path, passes: int) -> Path:
    return folder / f"snapshot-{passes}.safetensors"
