"""How far a stage is, told about once a second to whoever started it, in the file that `EBMBENCH_PULSE` names.

The output of stages goes to log files, so the flow could not tell a person more than that they run. Without the
variable nothing is written. Nothing that is made depends on it, and a file that cannot be written is not missed.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

VARIABLE = "EBMBENCH_PULSE"
_SECONDS = 1.0
_WORTH_SAYING = 1.0  # seconds; a run that took less was found, not made, and says nothing about the next

T = TypeVar("T")


class Pulse:
    """Counts the runs of a stage and the share of the current one, and estimates when all will be done."""

    def __init__(self, path: str | None) -> None:
        self.path = Path(path) if path else None
        self.run = self.runs = 1
        self.longest = 0.0
        self.since = self.told = time.monotonic()
        self.first: float | None = None

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The items, each told as a run of so many."""
        whole = list(items)
        self.runs, self.longest = len(whole), 0.0
        for number, item in enumerate(whole, 1):
            self.run, self.since, self.first = number, time.monotonic(), None
            self._write(None, None, self.longest * (self.runs - self.run + 1))
            yield item
            self.longest = max(self.longest, time.monotonic() - self.since)

    def tell(self, share: float, step: int) -> None:
        """How much of the current run is done. Made to be called in every step: mostly it only looks at the clock."""
        now = time.monotonic()
        if self.path is None or now - self.told < _SECONDS:
            return
        if self.first is None:  # a resumed run starts in the middle
            self.first, self.since = share, now
        whole = (now - self.since) / (share - self.first) if share > self.first else 0.0
        self._write(share, step, whole * (1 - share + self.runs - self.run))

    def _write(self, share: float | None, step: int | None, left: float) -> None:
        if self.path is None:
            return
        self.told = time.monotonic()
        ends = round(time.time() + left, 1) if left >= _WORTH_SAYING else None
        told = {"run": self.run, "runs": self.runs, "share": share, "step": step, "ends": ends}
        part = self.path.with_name(f".{self.path.name}.part")
        with contextlib.suppress(OSError):  # not flushed to the disk: the next second overwrites it
            part.write_text(json.dumps(told), encoding="utf-8")
            part.replace(self.path)


pulse = Pulse(os.environ.get(VARIABLE))
