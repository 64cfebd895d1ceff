"""What is sent to a worker, what it does with it, and what it sends back.

A worker has a clone of its own, brought to the commit and the `params.yaml` that the errand names. There
`dvc repro --pull STAGE` takes what the stage needs from the remote and runs it, or finds that the remote has its
outputs already; `dvc push --run-cache STAGE` gives them to everybody else.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread

from ebmbench.errors import UserError
from ebmbench.workspace.failures import failure_path
from ebmbench.workspace.layout import DVC_LOCK
from pipelines.cluster.slot import Slot
from pipelines.execution.dvc import DVC
from pipelines.execution.process import complaint, log_of, reproduce, run
from pipelines.outcome import FAILED, STOPPED, Outcome
from pipelines.planning.lockfile import entry_of

_LOOK_SECONDS = 0.5
_LONGEST_LOG = 400_000  # characters that are sent back; a stage's last words are at the end


@dataclass(frozen=True)
class Errand:
    """One stage of one state of the project; the parameters are sent along, for they are edited most."""

    commit: str
    params: str
    stage: str = ""


@dataclass(frozen=True)
class Delivery:
    """How the stage ended, where, its log; its lines of `dvc.lock`, or why it failed, as the report reads it."""

    outcome: Outcome
    worker: str
    log: str
    entry: str = ""
    reason: str | None = None


def fulfil(errand: Errand) -> Delivery:
    """Called on a worker by Dask; a stage that fails is an outcome, not an exception."""
    slot = Slot.here()
    name = f"{socket.gethostname()}:{slot.root.name}"
    with _stop_when_unwanted() as stop:
        try:
            variables = slot.adopt(errand.commit, errand.params)
            outcome = _make(slot.root, errand.stage, stop, variables)
        except UserError as error:
            return Delivery(Outcome(FAILED, cause=f"worker {name}: {error}"), name, f"error: {error}\n")
    log, reason = slot.root / log_of(errand.stage), failure_path(slot.root, errand.stage)
    entry = entry_of(slot.root / DVC_LOCK, errand.stage)
    return Delivery(outcome, name, _text(log), entry, _text(reason) if reason.exists() else None)


def _make(root: Path, stage: str, stop: Event, variables: Mapping[str, str]) -> Outcome:
    outcome = reproduce(root, stage, stop, ("--pull",), variables)
    if not outcome.good:
        return outcome
    log = root / log_of(stage)
    # Also of what the slot had already: whoever made it may have been killed before it was pushed. Outputs go first, so
    # that nobody finds an entry of the run-cache without them.
    for words in (["push", stage], ["push", "--run-cache", stage]):
        code = run([*DVC, "--wait-for-lock", *words], log, root, stop, variables)
        if code != 0:
            break
    if code == 0:
        return outcome
    if code is None:
        return replace(outcome, kind=STOPPED)
    return replace(outcome, kind=FAILED, cause=complaint(_text(log)) or "its outputs could not be pushed to the remote")


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-_LONGEST_LOG:] if log.exists() else ""


@contextmanager
def _stop_when_unwanted() -> Iterator[Event]:
    """Set when Dask no longer wants this task, because it was cancelled or because whoever asked for it is gone."""
    from dask.context import thread_state
    from distributed import get_worker

    worker, key = get_worker(), thread_state.key
    stop, done = Event(), Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state in ("cancelled", "resumed"):
                stop.set()

    Thread(target=watch, daemon=True).start()
    try:
        yield stop
    finally:
        done.set()
