"""Run stages on the workers of a Dask scheduler.

Prefect's tasks stay on this machine and only jobs are sent, so a worker needs no Prefect server. If a worker is lost,
Dask gives its job to another, which finds what the lost one had pushed and makes the rest again. The report is made
here, after all outputs of the workers have been downloaded.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DVC_LOCK, REPORT, failure_file, suite_of
from pipelines.cluster import NEEDS_EXTRA
from pipelines.cluster.download import LOG, Downloader
from pipelines.cluster.job import Job, JobResult, create_job, run_job
from pipelines.cluster.remote import require_remote
from pipelines.execution.process import log_path, reproduce
from pipelines.outcome import FAILED, STOPPED, Outcome
from pipelines.planning.lockfile import output_paths
from pipelines.planning.plan import Plan
from pipelines.planning.resources import Capacity

_POLL_SECONDS = 0.2
_CONNECT_SECONDS = 20


class ClusterRunner:
    """Runs stages on whatever workers the scheduler has."""

    def __init__(self, root: Path, plan: Plan, client: Any, job: Job) -> None:
        self.root, self.client, self.job = root, client, job
        self.address = client.scheduler.address  # a lost connection forgets it
        self.gpus = {stage.name: stage.gpus for stage in plan.todo if stage.gpus}
        self.downloader = Downloader(root)
        self.printed: set[str] = set()

    @property
    def description(self) -> str:
        """Where stages run."""
        return f"on the workers of {self.address}"

    def capacity(self) -> Capacity:
        """The threads and GPUs of the present workers."""
        try:
            workers = self.client.scheduler_info()["workers"].values()
        except (OSError, RuntimeError, AttributeError, LookupError):  # Dask has no one error for a lost connection
            self._print_once("the scheduler does not answer")
            return Capacity(sys.maxsize, sys.maxsize)  # all other stages fail at once, with the reason
        jobs = sum(worker["nthreads"] for worker in workers)
        gpus = sum(int(worker["resources"].get("gpu", 0)) for worker in workers)
        if not jobs:
            self._print_once(f"no workers at {self.address} yet: `ebmbench worker ADDRESS` starts some")
        elif self.gpus and not gpus:
            self._print_once(f"no worker has a GPU yet, and {', '.join(sorted(self.gpus)[:3])} … ask for one")
        return Capacity(max(1, jobs), gpus)  # the report needs no worker

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Send one stage to a worker and wait for it; the report is made here."""
        if stage == REPORT:
            return self._make_report(stop, force)
        wanted = {"gpu": self.gpus[stage]} if stage in self.gpus else None
        job = replace(self.job, stage=stage)
        # A new key for each attempt: for a known one Dask would return its old result.
        future = self.client.submit(run_job, job, key=f"{stage}-{uuid4().hex}", pure=False, resources=wanted)
        while not future.done():
            if stop.wait(_POLL_SECONDS):
                self.downloader.stop.set()
                with suppress(Exception):  # if the scheduler is gone there is nothing to cancel
                    future.cancel()
                return Outcome(STOPPED)
        outcome = self._receive(stage, future)
        if outcome.kind == FAILED:
            self._remove_outputs(stage)
        return outcome

    def _receive(self, stage: str, future: Any) -> Outcome:
        if future.status != "finished":
            lost = future.exception() if future.status == "error" else "the scheduler is gone"
            return Outcome(FAILED, cause=f"no worker could finish it: {lost}")
        result: JobResult = future.result()
        log, reason = log_path(stage), failure_file(self.root, suite_of(self.root), stage)
        (self.root / log).parent.mkdir(parents=True, exist_ok=True)
        (self.root / log).write_text(f"worker: {result.worker}\n{result.log}", encoding="utf-8")
        reason.unlink(missing_ok=True)
        if result.outcome.good:
            self.downloader.add(stage, result.entry)
        elif result.reason:
            write_text(reason, result.reason)
        return replace(result.outcome, log=log.as_posix())

    def _remove_outputs(self, stage: str) -> None:
        """Remove the old outputs of a failed stage: the report would show them as new."""
        for name in output_paths(self.root / DVC_LOCK, stage):
            path = self.root / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _make_report(self, stop: Event, force: bool) -> Outcome:
        missing = self.downloader.wait(stop)
        if stop.is_set():
            return Outcome(STOPPED)
        if missing:
            return Outcome(FAILED, log=LOG.as_posix(), cause=f"not received from the remote: {', '.join(missing)}")
        return reproduce(self.root, REPORT, stop, force=force)

    def _print_once(self, line: str) -> None:
        if line not in self.printed:
            self.printed.add(line)
            print(line, file=sys.stderr, flush=True)


@contextmanager
def connect(root: Path, plan: Plan, scheduler: str) -> Iterator[ClusterRunner]:
    """A runner on the workers of a scheduler; downloads are finished before the block is left."""
    require_remote(root)
    job = create_job(root)
    runner = _task_runner(scheduler)
    with runner:
        try:
            client = runner.client
        except (OSError, ValueError) as error:
            raise UserError(f"--scheduler: found {scheduler}, but nothing answers there: {error}") from error
        running = ClusterRunner(root, plan, client, job)
        try:
            yield running
        finally:
            running.downloader.close()


def _task_runner(scheduler: str) -> Any:
    try:
        from prefect_dask.task_runners import DaskTaskRunner
    except ModuleNotFoundError as error:
        raise UserError(f"--runner dask {NEEDS_EXTRA}") from error
    return DaskTaskRunner(address=scheduler, client_kwargs={"timeout": _CONNECT_SECONDS})
