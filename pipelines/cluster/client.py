"""Stages on the workers of a Dask scheduler, seen from the machine where the flow runs.

Prefect's tasks stay here and only errands travel, so a worker needs neither Prefect's server nor a way to it. If a
worker is lost, Dask gives its errand to another; what the lost one had pushed is found there, what it had not is made
again. The report is made here, when all that workers made has arrived.
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
from ebmbench.workspace.failures import failure_path
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DVC_LOCK, REPORT
from pipelines.cluster import NEEDS_EXTRA
from pipelines.cluster.errand import Delivery, Errand, fulfil
from pipelines.cluster.gather import LOG, Gathering
from pipelines.cluster.remote import require_remote
from pipelines.cluster.state import errand_of
from pipelines.execution.process import log_of, reproduce
from pipelines.outcome import FAILED, STOPPED, Outcome
from pipelines.planning.lockfile import outputs_of
from pipelines.planning.plan import Plan
from pipelines.planning.resources import Room

_LOOK_SECONDS = 0.2
_CONNECT_SECONDS = 20


class Cluster:
    """Runs stages on whatever workers the scheduler has."""

    def __init__(self, root: Path, plan: Plan, client: Any, errand: Errand) -> None:
        self.root, self.client, self.errand = root, client, errand
        self.address = client.scheduler.address  # which a lost connection forgets
        self.gpus = {stage.name: stage.gpus for stage in plan.todo if stage.gpus}
        self.gathering = Gathering(root)
        self.said: set[str] = set()

    @property
    def told(self) -> str:
        """For the first line of a run."""
        return f"on the workers of {self.address}"

    def room(self) -> Room:
        """What the workers of this moment have."""
        try:
            workers = self.client.scheduler_info()["workers"].values()
        except (OSError, RuntimeError, AttributeError, LookupError):  # Dask has no one error for a lost connection
            self._tell("the scheduler does not answer")
            return Room(sys.maxsize, sys.maxsize)  # all that is left fails at once, and says why
        jobs = sum(worker["nthreads"] for worker in workers)
        gpus = sum(int(worker["resources"].get("gpu", 0)) for worker in workers)
        if not jobs:
            self._tell(f"no workers at {self.address} yet: `ebmbench worker ADDRESS` starts some")
        elif self.gpus and not gpus:
            self._tell(f"no worker has a GPU yet, and {', '.join(sorted(self.gpus)[:3])} … ask for one")
        return Room(max(1, jobs), gpus)  # the report is made here, whoever is there

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Send one stage out and wait for it; the report is made here."""
        if stage == REPORT:
            return self._report(stop, force)
        wanted = {"gpu": self.gpus[stage]} if stage in self.gpus else None
        errand = replace(self.errand, stage=stage)
        # A name of its own for each try: Dask would answer a known one with what it remembers.
        future = self.client.submit(fulfil, errand, key=f"{stage}-{uuid4().hex}", pure=False, resources=wanted)
        while not future.done():
            if stop.wait(_LOOK_SECONDS):
                self.gathering.stop.set()
                with suppress(Exception):  # if the scheduler is gone there is nothing to cancel
                    future.cancel()
                return Outcome(STOPPED)
        outcome = self._received(stage, future)
        if outcome.kind == FAILED:
            self._clear(stage)
        return outcome

    def _received(self, stage: str, future: Any) -> Outcome:
        if future.status != "finished":
            lost = future.exception() if future.status == "error" else "the scheduler is gone"
            return Outcome(FAILED, cause=f"no worker could finish it: {lost}")
        delivery: Delivery = future.result()
        log, reason = log_of(stage), failure_path(self.root, stage)
        (self.root / log).parent.mkdir(parents=True, exist_ok=True)
        (self.root / log).write_text(f"worker: {delivery.worker}\n{delivery.log}", encoding="utf-8")
        reason.unlink(missing_ok=True)
        if delivery.outcome.good:
            self.gathering.add(stage, delivery.entry)
        elif delivery.reason:
            write_text(reason, delivery.reason)
        return replace(delivery.outcome, log=log.as_posix())

    def _clear(self, stage: str) -> None:
        """What failed elsewhere has no outputs here either: the report would show old ones as if they were new."""
        for name in outputs_of(self.root / DVC_LOCK, stage):
            path = self.root / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _report(self, stop: Event, force: bool) -> Outcome:
        missed = self.gathering.arrived(stop)
        if stop.is_set():
            return Outcome(STOPPED)
        if missed:
            return Outcome(FAILED, log=LOG.as_posix(), cause=f"not received from the remote: {', '.join(missed)}")
        return reproduce(self.root, REPORT, stop, force=force)

    def _tell(self, line: str) -> None:
        if line not in self.said:
            self.said.add(line)
            print(line, file=sys.stderr, flush=True)


@contextmanager
def cluster(root: Path, plan: Plan, scheduler: str) -> Iterator[Cluster]:
    """Connect to the scheduler, and leave nothing half received."""
    require_remote(root)
    errand = errand_of(root)
    runner = _task_runner(scheduler)
    with runner:
        try:
            client = runner.client
        except (OSError, ValueError) as error:
            raise UserError(f"--scheduler: found {scheduler}, but nothing answers there: {error}") from error
        running = Cluster(root, plan, client, errand)
        try:
            yield running
        finally:
            running.gathering.close()


def _task_runner(scheduler: str) -> Any:
    try:
        from prefect_dask.task_runners import DaskTaskRunner
    except ModuleNotFoundError as error:
        raise UserError(f"--runner dask {NEEDS_EXTRA}") from error
    return DaskTaskRunner(address=scheduler, client_kwargs={"timeout": _CONNECT_SECONDS})
