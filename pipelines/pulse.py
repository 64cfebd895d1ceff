"""How far the running stages are, from the files in which they tell it (`ebmbench/core/pulse.py`)."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ebmbench.core.errors import UserError
from ebmbench.core.files import read_json
from pipelines.workspace import PULSES


@dataclass(frozen=True)
class Pulse:
    """Run `run` of `runs`, `share` of it done after `step` steps; all will be done at the time `ends`, if known."""

    run: int
    runs: int
    share: float | None = None
    step: int | None = None
    ends: float | None = None

    @property
    def fraction(self) -> float:
        """How much of the whole stage is done, from 0 to 1."""
        return min(1.0, (self.run - 1 + (self.share or 0.0)) / self.runs)

    def told(self, now: float | None = None) -> str:
        """In words, as far as known."""
        words = [f"run {self.run} of {self.runs}"] if self.runs > 1 else []
        words += [f"step {self.step}"] if self.step is not None else []
        words += [f"{100 * self.fraction:.0f} %"] if self.share is not None else []
        if self.ends is not None:
            words.append(f"{clock(max(0.0, self.ends - (time.time() if now is None else now)))} left")
        return ", ".join(words)


Look = Callable[[str], Pulse | None]  # by the name of a stage


def clock(seconds: float) -> str:
    """Minutes and seconds, hours before them if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def pulse_of(root: Path, stage: str) -> Iterator[Path]:
    """Where a stage may tell its progress while the block runs; before and after it nothing is told there."""
    path = _path(root, stage)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def looking_in(root: Path) -> Look:
    """What asks a stage of that workspace."""

    def look(stage: str) -> Pulse | None:
        try:
            return Pulse(**read_json(_path(root, stage)))
        except (OSError, UserError, TypeError):  # it has told nothing yet, or is of another version
            return None

    return look


def _path(root: Path, stage: str) -> Path:
    return root / PULSES / f"{stage.replace(os.sep, '_')}.json"
