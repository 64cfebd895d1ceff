"""Download the outputs of workers from the DVC remote into the main workspace, while other stages still run.

A worker sends its stage's entry of `dvc.lock`. With that entry in the main workspace's `dvc.lock`,
`dvc repro --pull --single-item` takes exactly those outputs from the remote. If one is missing there, nothing may be
trained here in its place: `EBMBENCH_RESTORE_ONLY` lets a stage fail at once.
"""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock

from ebmbench.workspace.layout import DVC_LOCK, LOGS
from pipelines.execution.process import retry_dvc
from pipelines.outcome import RAN
from pipelines.planning.lockfile import write_entries

LOG = LOGS / "download.log"
RESTORE_ONLY = "EBMBENCH_RESTORE_ONLY"  # read by ebmbench/stages/runner.py
_POLL_SECONDS = 0.2


class Downloader:
    """Runs one `dvc` at a time; stages that are added meanwhile are downloaded together by the next."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stop = Event()
        self.missing: list[str] = []
        self._added: dict[str, str] = {}
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._last: Future[None] | None = None
        (root / LOG).parent.mkdir(parents=True, exist_ok=True)
        (root / LOG).unlink(missing_ok=True)

    def add(self, stage: str, entry: str) -> None:
        """Download a stage that a worker has pushed; `entry` is its text of `dvc.lock`."""
        with self._lock:
            self._added[stage] = entry
            self._last = self._thread.submit(self._download)

    def wait(self, stop: Event) -> list[str]:
        """Wait for all downloads, or until `stop` is set; returns the stages that could not be downloaded."""
        while self._last is not None and not self._last.done():
            if stop.is_set():
                self.stop.set()
            wait([self._last], _POLL_SECONDS)
        return self.missing

    def close(self) -> None:
        """Wait for the current download."""
        self._thread.shutdown(wait=True)

    def _download(self) -> None:
        with self._lock:
            batch, self._added = self._added, {}
        if not batch or self.stop.is_set():
            return
        words = ["repro", "--pull", "--single-item", *batch]
        try:
            write_entries(self.root / DVC_LOCK, batch)
            good = retry_dvc(words, self.root / LOG, self.root, self.stop, {RESTORE_ONLY: "1"}) == RAN
        except Exception as error:  # in this thread it would be lost
            good = False
            with suppress(OSError), (self.root / LOG).open("a", encoding="utf-8") as file:
                file.write(f"error: {type(error).__name__}: {error}\n")
        if not good:
            self.missing += batch
