"""How far a stage is: written about once a second to the file that `EBMBENCH_PULSE` names, for the flow to show.

Without the variable nothing is written. No result depends on it, so a file that cannot be written is no error.
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
_SHORTEST = 1.0  # seconds; a shorter run was found in `work/`, and says nothing about the next

T = TypeVar("T")


class Progress:
    """Counts the runs of a stage and the share of the current one, and estimates when all will be done."""

    def __init__(self, path: str | None) -> None:
        self.path = Path(path) if path else None
        self.run = self.runs = 1
        self.longest = self.part = 0.0
        self.since = self.written = time.monotonic()
        self.first: float | None = None

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and count each as one run."""
        whole = list(items)
        self.runs, self.longest = len(whole), 0.0
        for number, item in enumerate(whole, 1):
            self.run, self.since, self.first, self.part = number, time.monotonic(), None, 0.0
            self._write(None, None, self.longest * (self.runs - self.run + 1))
            yield item
            self.longest = max(self.longest, time.monotonic() - self.since)

    def parts(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and count each as an equal part of the current run, though one may take longer.

        So earlier runs alone tell when this one will be done. A second count in the same run never goes back.
        """
        whole = list(items)
        for number, item in enumerate(whole):
            now, share = time.monotonic(), number / len(whole)
            if now - self.written >= _SECONDS and share > self.part:
                self.part = share
                self._write(share, None, self.longest * (self.runs - self.run + 1) - (now - self.since))
            yield item

    def update(self, share: float, step: int) -> None:
        """Say how much of the current run is done. It may be called in every step: mostly it only reads the clock."""
        now = time.monotonic()
        if self.path is None or now - self.written < _SECONDS:
            return
        if self.first is None:  # a resumed run starts in the middle
            self.first, self.since = share, now
        whole = (now - self.since) / (share - self.first) if share > self.first else 0.0
        self._write(share, step, whole * (1 - share + self.runs - self.run))

    def _write(self, share: float | None, step: int | None, left: float) -> None:
        if self.path is None:
            return
        self.written = time.monotonic()
        ends = round(time.time() + left, 1) if left >= _SHORTEST else None
        state = {"run": self.run, "runs": self.runs, "share": share, "step": step, "ends": ends}
        part = self.path.with_name(f".{self.path.name}.part")
        with contextlib.suppress(OSError):  # not flushed to the disk: the next second overwrites it
            part.write_text(json.dumps(state), encoding="utf-8")
            part.replace(self.path)


progress = Progress(os.environ.get(VARIABLE))
