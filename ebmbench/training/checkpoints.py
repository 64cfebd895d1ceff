"""The checkpoints of a run, so that it can resume after any stop and go back after a divergence.

- `checkpoint.safetensors`, saved every few seconds, and `previous.safetensors`, the one before: if the newest is cut
  short, the older is whole.
- `healthy-<passes>.safetensors`, saved at each tenth of the *budget*, the last two: a diverged run goes back there.
  By the budget, since this must not depend on the machine's speed.

A run resumes from a checkpoint only if it is whole and so is the healthy state that belongs to it; else from the next
older one, and at last from the start. The same steps follow from all of them.
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

NEWEST, PREVIOUS = "checkpoint.safetensors", "previous.safetensors"
SHARES = 10  # healthy states in a budget
# Raised by `restore` for a whole file of another job or another version.
MISFITS = (UserError, KeyError, TypeError, ValueError, RuntimeError, AttributeError)


@dataclass
class Clock:
    """Seconds of training over all parts of a run: `spent` in earlier parts; `snapshots` are seconds by passes."""

    spent: float = 0.0
    snapshots: dict[int, float] = field(default_factory=dict)
    since: float | None = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, header: dict[str, Any]) -> "Clock":
        """The clock of a checkpoint, running again."""
        return cls(float(header["seconds"]), {int(passes): at for passes, at in header["snapshots"].items()})

    def seconds(self) -> float:
        """The seconds so far."""
        return self.spent + (time.perf_counter() - self.since if self.since is not None else 0.0)

    def stop(self) -> None:
        """Stop counting."""
        self.spent, self.since = self.seconds(), None

    def as_dict(self) -> dict[str, Any]:
        """For a checkpoint's header and for `cost.json`."""
        times = {str(passes): round(at, 3) for passes, at in self.snapshots.items()}
        return {"seconds": round(self.seconds(), 3), "snapshots": times}


class Checkpoints:
    """The checkpoints of one job in one workshop."""

    def __init__(self, job: Job, data: Tensor, workshop: Path, labels: Tensor | None = None) -> None:
        self.job, self.data, self.workshop, self.labels = job, data, workshop, labels

    def resume(self) -> tuple[Trainer, Clock]:
        """A trainer and a clock from the newest whole state, or from the start."""
        sweep_parts(self.workshop)
        for path in self._newest_first():
            try:
                return self._load(path)
            except torch.OutOfMemoryError:  # says nothing of the file
                raise
            except MISFITS as error:
                print(f"warning: {path}: passed over: {in_words(error)}", file=sys.stderr)
        return self._start(), Clock()

    def save(self, trainer: Trainer, clock: Clock) -> None:
        """Save the state, and keep the checkpoint before it."""
        newest = self.workshop / NEWEST
        if newest.exists():
            newest.replace(self.workshop / PREVIOUS)
        self._write(newest, trainer, clock)

    def save_healthy(self, trainer: Trainer, clock: Clock) -> None:
        """Save the state to go back to, and keep the one before it, in case that this one is cut short."""
        before, trainer.healthy = trainer.healthy, trainer.meter.counts.passes
        self._write(self._healthy(trainer.healthy), trainer, clock)
        for path in self._all_healthy():
            if path not in (self._healthy(before), self._healthy(trainer.healthy)):
                path.unlink()

    def load_healthy(self, trainer: Trainer) -> Trainer:
        """A new trainer at the last healthy state."""
        healthy = self._start()
        if trainer.healthy:
            healthy.restore(*checkpoint.load(self._healthy(trainer.healthy)))
        return healthy

    def restart(self, trainer: Trainer, fault: Diverged, clock: Clock) -> Trainer:
        """A new trainer at the last healthy state, with other noise and half the learning rate."""
        healthy = self.load_healthy(trainer)
        healthy.faults = [*trainer.faults, describe_fault(fault, trainer)]
        # Later snapshots belong to the steps that are taken back.
        clock.snapshots = {at: seconds for at, seconds in clock.snapshots.items() if at <= trainer.healthy}
        return healthy

    def _start(self) -> Trainer:
        return Trainer(self.job, self.data, self.labels)

    def _load(self, path: Path) -> tuple[Trainer, Clock]:
        tensors, header = checkpoint.load(path)
        if header["healthy"]:
            checkpoint.load(self._healthy(header["healthy"]))
        trainer = self._start()
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


def describe_fault(fault: Diverged, trainer: Trainer) -> dict[str, Any]:
    """A divergence for `status.json`: step, cause, last values, and how many passes back the healthy state is."""
    passes = trainer.meter.counts.passes
    return {"step": trainer.step, "passes": passes, "lost_passes": passes - trainer.healthy, **fault.as_dict()}
