"""Brings what workers have pushed into the main workspace, while they go on.

A worker sends the entry of `dvc.lock` of what it has made. With that entry in the main workspace's lock,
`dvc repro --pull --single-item` takes exactly those outputs from the remote. Should one be missing there, nothing may
be trained here in its place: `EBMBENCH_RESTORE_ONLY` lets a stage fail at once.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock

from ebmbench.workspace.layout import DVC_LOCK, LOGS
from pipelines.execution.dvc import DVC
from pipelines.execution.process import attempts
from pipelines.outcome import RAN
from pipelines.planning.lockfile import put

LOG = LOGS / "gather.log"
RESTORE_ONLY = "EBMBENCH_RESTORE_ONLY"  # read by ebmbench/stages/runner.py
_LOOK_SECONDS = 0.2


class Gathering:
    """One DVC at a time; what is finished meanwhile goes together into the next."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stop = Event()
        self.missed: list[str] = []
        self._finished: dict[str, str] = {}
        self._lock = Lock()
        self._one = ThreadPoolExecutor(max_workers=1)
        self._last: Future[None] | None = None
        (root / LOG).parent.mkdir(parents=True, exist_ok=True)
        (root / LOG).unlink(missing_ok=True)

    def add(self, stage: str, entry: str) -> None:
        """A worker has pushed it; `entry` are its lines of `dvc.lock`."""
        with self._lock:
            self._finished[stage] = entry
            self._last = self._one.submit(self._take)

    def arrived(self, stop: Event) -> list[str]:
        """Wait until all that was added so far is here, or until `stop` is set; the stages that could not be had."""
        while self._last is not None and not self._last.done():
            if stop.is_set():
                self.stop.set()
            wait([self._last], _LOOK_SECONDS)
        return self.missed

    def close(self) -> None:
        """Wait for what is under way."""
        self._one.shutdown(wait=True)

    def _take(self) -> None:
        with self._lock:
            batch, self._finished = self._finished, {}
        if not batch or self.stop.is_set():
            return
        try:
            put(self.root / DVC_LOCK, batch)
            log = self.root / LOG
            good = attempts(_command([*batch]), log, self.root, self.stop, {RESTORE_ONLY: "1"}) == RAN
        except Exception as error:  # nobody else would hear of it
            good = False
            with suppress(OSError), (self.root / LOG).open("a", encoding="utf-8") as file:
                file.write(f"error: {type(error).__name__}: {error}\n")
        if not good:
            self.missed += batch


def _command(stages: Sequence[str]) -> list[str]:
    return [*DVC, "--wait-for-lock", "repro", "--pull", "--single-item", *stages]
