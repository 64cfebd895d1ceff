"""Ways to stop a training run that nobody asked: for tests, and for whoever wants to try them by the hundred."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from torch import Tensor

from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trainer import Trainer
from ebmbench.workspace import files

SAME = ("model.safetensors", "status.json", "history.csv")


class Killed(BaseException):
    """Stands for a kill -9: nothing of what follows is done."""


@contextmanager
def killed_at(event: int) -> Iterator[None]:
    """Die at the event of that number: a training step, a file that is flushed, or a folder after a rename."""
    flush, update, left = files.flush, Trainer._update, [event]

    def count() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    def flushing(path: Path) -> None:
        count()
        flush(path)

    def updating(self: Trainer) -> tuple[float, float]:
        count()
        return update(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "flush", flushing)
        patch.setattr(Trainer, "_update", updating)
        yield


def cut_short(folder: Path, dice: random.Random) -> None:
    """A power loss: the newest file of a folder loses its end."""
    there = list(folder.glob("*.safetensors"))
    if there:
        newest = max(there, key=lambda path: path.stat().st_mtime_ns)
        os.truncate(newest, dice.randrange(newest.stat().st_size))


def stumble(
    job: Job, data: Tensor, folder: Path, dice: random.Random, falls: int, labels: Tensor | None = None
) -> Path:
    """Train with so many kills at random moments, half of them with a power loss; the folder of the result."""
    result = folder / "result"
    result.mkdir(parents=True)
    for _ in range(falls):
        try:
            with killed_at(dice.randrange(1, 120)):
                train(job, data, folder / "work", result, save_every=0.0, labels=labels)
        except Killed:
            if dice.random() < 0.5:
                cut_short(folder / "work", dice)
    train(job, data, folder / "work", result, labels=labels)
    return result


def contents(result: Path) -> dict[str, bytes]:
    """All files of a result that must be the same, whatever befell the run."""
    kept = sorted(path.name for path in result.glob("snapshot-*.safetensors"))
    return {name: (result / name).read_bytes() for name in (*SAME, *kept)}
