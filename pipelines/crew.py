"""Who runs the stages: this machine, or the workers of a Dask scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Protocol

from pipelines.cores import jobs_or_cores
from pipelines.local import Local
from pipelines.outcome import Outcome
from pipelines.plan import Plan
from pipelines.room import Room


class Crew(Protocol):
    """`Local` or `Cluster`."""

    @property
    def told(self) -> str:
        """How many at a time, or where, for a person."""

    def room(self) -> Room:
        """How much may run at once, now."""

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Bring one stage up to date, or give up when `stop` is set; with `force` run it whatever DVC says."""


@contextmanager
def crew(root: Path, plan: Plan, jobs: int | None, scheduler: str | None) -> Iterator[Crew]:
    """The crew that was asked for; Dask is imported only where it is."""
    if scheduler is None:
        yield Local(root, plan, jobs_or_cores(jobs))
        return
    from pipelines.cluster.client import cluster

    with cluster(root, plan, scheduler) as workers:
        yield workers
