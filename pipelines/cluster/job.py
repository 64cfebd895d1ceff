"""A job for a worker: one stage of one state of the project, how the worker runs it, and what it sends back.

A worker has a clone of its own, at the commit and with the `params.yaml` of the job. There `dvc repro --pull STAGE`
gets what the stage needs from the remote and runs it, or finds its outputs in the remote. `dvc push --run-cache STAGE`
then gives them to all others.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread

from ebmbench.errors import UserError
from ebmbench.workspace.git import git
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML, REPORTS, failure_file, suite_of
from pipelines.cluster.worker_clone import WorkerClone
from pipelines.execution.dvc import DVC
from pipelines.execution.process import last_error, log_path, reproduce, run_guarded
from pipelines.outcome import FAILED, STOPPED, Outcome
from pipelines.planning.lockfile import entry_text

_POLL_SECONDS = 0.5
_LONGEST_LOG = 400_000  # characters that are sent back; the last ones matter most
_NOT_REFUSED = (PARAMS_YAML, DVC_LOCK, f"{REPORTS}/")  # the first is part of every job, runs write the others
_SHOWN = 3


@dataclass(frozen=True)
class Job:
    """A stage at a commit; `params` is the text of `params.yaml`, which need not be committed."""

    commit: str
    params: str
    stage: str = ""


@dataclass(frozen=True)
class JobResult:
    """The outcome, the worker's name, the log, the stage's text of `dvc.lock`, and its failure record."""

    outcome: Outcome
    worker: str
    log: str
    entry: str = ""
    reason: str | None = None


def create_job(root: Path) -> Job:
    """A job with the current commit and parameters. Other uncommitted changes are refused: workers cannot see them."""
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", "HEAD")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    edits = [path for path in f"{changed}\0{new}".split("\0") if path and not path.startswith(_NOT_REFUSED)]
    if edits:
        more = f" and {len(edits) - _SHOWN} more" if len(edits) > _SHOWN else ""
        raise UserError(
            f"{', '.join(edits[:_SHOWN])}{more}: not committed; workers see commits only: commit, ignore or remove it"
        )
    return Job(git(root, "rev-parse", "HEAD"), (root / PARAMS_YAML).read_text(encoding="utf-8"))


def run_job(job: Job) -> JobResult:
    """Run a job on a worker; called by Dask. A failed stage is an outcome, not an exception."""
    clone = WorkerClone.current()
    name = f"{socket.gethostname()}:{clone.root.name}"
    with _stop_when_cancelled() as stop:
        try:
            variables = clone.check_out(job.commit, job.params)
            outcome = _run_stage(clone.root, job.stage, stop, variables)
        except UserError as error:
            return JobResult(Outcome(FAILED, cause=f"worker {name}: {error}"), name, f"error: {error}\n")
    log, reason = clone.root / log_path(job.stage), failure_file(clone.root, suite_of(clone.root), job.stage)
    entry = entry_text(clone.root / DVC_LOCK, job.stage)
    return JobResult(outcome, name, _read_end(log), entry, _read_end(reason) if reason.exists() else None)


def _run_stage(root: Path, stage: str, stop: Event, variables: Mapping[str, str]) -> Outcome:
    outcome = reproduce(root, stage, stop, ("--pull",), variables)
    if not outcome.good:
        return outcome
    log = root / log_path(stage)
    # Outputs that were in the clone already are pushed too: an earlier worker may have been killed before it pushed.
    # Outputs go first, so that the remote never has an entry of the run-cache without them.
    for words in (["push", stage], ["push", "--run-cache", stage]):
        code = run_guarded([*DVC, "--wait-for-lock", *words], log, root, stop, variables)
        if code is None:
            return replace(outcome, kind=STOPPED)
        if code:
            cause = last_error(_read_end(log)) or "its outputs could not be pushed to the remote"
            return replace(outcome, kind=FAILED, cause=cause)
    return outcome


def _read_end(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")[-_LONGEST_LOG:] if file.exists() else ""


@contextmanager
def _stop_when_cancelled() -> Iterator[Event]:
    """An event that is set when Dask has cancelled this task or its client is gone."""
    from dask.context import thread_state
    from distributed import get_worker

    worker, key = get_worker(), thread_state.key
    stop, done = Event(), Event()

    def watch() -> None:
        while not done.wait(_POLL_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state in ("cancelled", "resumed"):
                stop.set()

    Thread(target=watch, daemon=True).start()
    try:
        yield stop
    finally:
        done.set()
