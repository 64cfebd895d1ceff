"""Ways to stop a training run that nobody asked: for tests, and for whoever wants to try them by the hundred."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from torch import Tensor

from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trainer import Trainer
from ebmbench.workspace import files

ROOT = Path(__file__).parents[2]
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


SERVER = """
import json, os, signal, sys, time
from pathlib import Path
import torch
import torch.fx.experimental.symbolic_shapes  # a second, which each fork would take
torch.set_num_threads(1)
from ebmbench.training.run import train
from tests.training.test_kills import DATA, LABELS, small
for line in sys.stdin:
    method, folder, seconds = json.loads(line)
    work, result = (Path(folder, name) for name in ("work", "result"))
    result.mkdir(parents=True, exist_ok=True)
    begun, child = time.perf_counter(), os.fork()
    if child == 0:
        train(small(method, budget=8_000), DATA, work, result, 5.0 if seconds is None else 0.0, LABELS)
        break
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # it is not waited for before, so its number is no other's
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([status, time.perf_counter() - begun]), flush=True)
"""


class Victims:
    """Trains in processes that can be killed: forks of one that has imported torch."""

    def __enter__(self) -> "Victims":
        command, variables = [sys.executable, "-c", SERVER], os.environ | {"PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(command, cwd=ROOT, env=variables, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.communicate()

    def train(self, method: str, folder: Path, seconds: float | None = None) -> tuple[int, float]:
        """Train a small job, or go on with it, until a kill -9 after so many seconds: exit status and seconds."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps([method, str(folder), seconds]) + "\n")
        self.server.stdin.flush()
        status, took = json.loads(self.server.stdout.readline())
        assert status in (0, -signal.SIGKILL)
        return status, took

    def finish(self, method: str, folder: Path, dice: random.Random, longest: float) -> int:
        """Train, with a kill -9 at random moments, until an attempt comes to its end; how many were killed."""
        killed = 0
        while self.train(method, folder, dice.random() * longest * (1 + killed / 4))[0]:  # so that it ends
            killed += 1
        return killed
