"""Seconds of training, over all parts of a run that was stopped, and when its snapshots were taken.

What a run keeps in its workshop while it trains, so that it can go on after any stop and go back after a divergence.

- `checkpoint.safetensors`, now and then by the clock, and `previous.safetensors`, the one before: if the newest is cut
  short, the older is whole.
- `healthy-<passes>.safetensors`, at every tenth of the *budget*, the last two: where a run that diverges goes back to.
  By the budget, since what a run goes back to must not depend on the machine's speed.

A checkpoint is gone on with only if it is whole and so is the healthy state that it would go back to; else the next
older one is tried, and at last the start. Whichever it is, the same steps follow.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ebmbench.core import checkpoint
from ebmbench.errors import UserError, in_words
from ebmbench.training.divergence import Diverged
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from ebmbench.workspace.files import sweep_parts


@dataclass
class Clock:
    """Runs from when it is made; `spent` is what earlier parts took, `snapshots` are seconds by passes."""

    spent: float = 0.0
    snapshots: dict[int, float] = field(default_factory=dict)
    since: float | None = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, header: dict[str, Any]) -> "Clock":
        """The clock that a checkpoint kept, going on."""
        return cls(float(header["seconds"]), {int(passes): at for passes, at in header["snapshots"].items()})

    def seconds(self) -> float:
        """So far."""
        return self.spent + (time.perf_counter() - self.since if self.since is not None else 0.0)

    def stop(self) -> None:
        """No longer count."""
        self.spent, self.since = self.seconds(), None

    def as_dict(self) -> dict[str, Any]:
        """What is kept of it."""
        times = {str(passes): round(at, 3) for passes, at in self.snapshots.items()}
        return {"seconds": round(self.seconds(), 3), "snapshots": times}


NEWEST, PREVIOUS = "checkpoint.safetensors", "previous.safetensors"
SHARES = 10  # healthy states in a budget
# What a file that is whole but not of this job, or not of this version, makes of `restore`.
MISFITS = (UserError, KeyError, TypeError, ValueError, RuntimeError, AttributeError)


class Keeper:
    """The checkpoints of one job in one workshop."""

    def __init__(self, job: Job, data: Tensor, workshop: Path) -> None:
        self.job, self.data, self.workshop = job, data, workshop

    def begin(self) -> tuple[Trainer, Clock]:
        """A trainer and a clock that go on from the newest whole state, or start."""
        sweep_parts(self.workshop)
        for path in self._newest_first():
            try:
                return self._from(path)
            except torch.OutOfMemoryError:  # says nothing of the file
                raise
            except MISFITS as error:
                print(f"warning: {path}: passed over: {in_words(error)}", file=sys.stderr)
        return Trainer(self.job, self.data), Clock()

    def save(self, trainer: Trainer, clock: Clock) -> None:
        """Keep the state as it is now, beside the one that was kept before."""
        newest = self.workshop / NEWEST
        if newest.exists():
            newest.replace(self.workshop / PREVIOUS)
        self._write(newest, trainer, clock)

    def mark(self, trainer: Trainer, clock: Clock) -> None:
        """Keep the state to go back to. The one before stays, in case that this one is cut short."""
        before, trainer.healthy = trainer.healthy, trainer.meter.counts.passes
        self._write(self._healthy(trainer.healthy), trainer, clock)
        for path in self._all_healthy():
            if path not in (self._healthy(before), self._healthy(trainer.healthy)):
                path.unlink()

    def back(self, trainer: Trainer) -> Trainer:
        """The last healthy state, as a trainer of its own."""
        healthy = Trainer(self.job, self.data)
        if trainer.healthy:
            healthy.restore(*checkpoint.load(self._healthy(trainer.healthy)))
        return healthy

    def again(self, trainer: Trainer, fault: Diverged, clock: Clock) -> Trainer:
        """The last healthy state, to be trained with other noise and half the learning rate."""
        healthy = self.back(trainer)
        healthy.faults = [*trainer.faults, described(fault, trainer)]
        # Those that were taken since are of a way that the run does not go.
        clock.snapshots = {at: seconds for at, seconds in clock.snapshots.items() if at <= trainer.healthy}
        return healthy

    def _from(self, path: Path) -> tuple[Trainer, Clock]:
        tensors, header = checkpoint.load(path)
        if header["healthy"]:
            checkpoint.load(self._healthy(header["healthy"]))
        trainer = Trainer(self.job, self.data)
        trainer.restore(tensors, header)
        return trainer, Clock.of(header)

    def _newest_first(self) -> Iterator[Path]:
        yield from (path for name in (NEWEST, PREVIOUS) if (path := self.workshop / name).exists())
        yield from sorted(self._all_healthy(), key=lambda path: int(path.stem.partition("-")[2]), reverse=True)

    def _all_healthy(self) -> list[Path]:
        return list(self.workshop.glob("healthy-*.safetensors"))

    def _healthy(self, passes: int) -> Path:
        return self.workshop / f"healthy-{passes}.safetensors"

    def _write(self, path: Path, trainer: Trainer, clock: Clock) -> None:
        tensors, header = trainer.state()
        checkpoint.save(path, tensors, {**header, **clock.as_dict()})


def described(fault: Diverged, trainer: Trainer) -> dict[str, Any]:
    """A divergence for `status.json`: where, why, the last values, and how many passes back the healthy state is."""
    passes = trainer.meter.counts.passes
    return {"step": trainer.step, "passes": passes, "lost_passes": passes - trainer.healthy, **fault.as_dict()}
