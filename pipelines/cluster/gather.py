"""Brings what workers have pushed into the main workspace, while they go on: `dvc repro --pull` of the finished stages.

DVC then finds their outputs in the run-cache that the workers filled. Two things stand in the way of that. An entry of
`dvc.lock` whose outputs the remote does not have makes DVC run the stage again, so the entries of finished stages are
dropped first. And should a result be missing, nothing may be trained here in its place: `EBMBENCH_RESTORE_ONLY`
lets a stage fail at once.
"""

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock

from ebmbench.core.files import write_text
from pipelines.dvc_cli import DVC
from pipelines.supervise import run
from pipelines.workspace import LOGS

LOG = LOGS / "gather.log"
RESTORE_ONLY = "EBMBENCH_RESTORE_ONLY"  # read by ebmbench/stages/shell.py
_ENTRY = re.compile(r"^  (?P<stage>\S[^:]*):$")  # two spaces: a key below `stages:`


class Gathering:
    """One DVC at a time; what is finished meanwhile goes together into the next."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stop = Event()
        self.missed: list[str] = []
        self._finished: list[str] = []
        self._lock = Lock()
        self._one = ThreadPoolExecutor(max_workers=1)
        (root / LOG).parent.mkdir(parents=True, exist_ok=True)
        (root / LOG).unlink(missing_ok=True)

    def add(self, stage: str) -> None:
        """A worker has pushed it."""
        with self._lock:
            self._finished.append(stage)
        self._one.submit(self._take)

    def finish(self) -> list[str]:
        """Wait until all that was added is here; the stages that could not be had."""
        self._one.shutdown(wait=True)
        return self.missed

    def _take(self) -> None:
        with self._lock:
            batch, self._finished = self._finished, []
        if batch and not self.stop.is_set():
            forget(self.root / "dvc.lock", batch)
            if run(_command(batch), self.root / LOG, self.root, self.stop, {RESTORE_ONLY: "1"}) != 0:
                self.missed += batch


def _command(stages: Sequence[str]) -> list[str]:
    return [*DVC, "--wait-for-lock", "repro", "--pull", "--single-item", *stages]


def forget(lock: Path, stages: Iterable[str]) -> None:
    """Drop the entries of these stages from `dvc.lock`."""
    if not lock.exists():
        return
    dropped, kept, keep = set(stages), [], True
    for line in lock.read_text(encoding="utf-8").splitlines(keepends=True):
        if entry := _ENTRY.match(line):
            keep = entry["stage"] not in dropped
        elif not line.startswith("  "):
            keep = True
        if keep:
            kept.append(line)
    write_text(lock, "".join(kept))
