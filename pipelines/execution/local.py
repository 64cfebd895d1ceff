"""The GPUs that this process may use, and one each for the jobs that ask.

`CUDA_VISIBLE_DEVICES` says which, as for any CUDA program; without it NVIDIA's own tool is asked. Torch would know
too, but takes seconds to import, and would then hold a context on every GPU.

Stages on this machine: each one supervised `dvc repro --single-item`, with a GPU of its own if its cell asks.

Who runs the stages: this machine, or the workers of a Dask scheduler.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Protocol

from ebmbench.errors import UserError
from pipelines.execution.process import reproduce
from pipelines.outcome import Outcome
from pipelines.planning.plan import Plan, Stage
from pipelines.planning.resources import Room, jobs_or_cores

VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpus() -> list[str]:
    """Their names, as `CUDA_VISIBLE_DEVICES` takes them."""
    if VISIBLE in os.environ:
        names = [name.strip() for name in os.environ[VISIBLE].split(",")]
        return [name for name in names if name not in ("", "-1", "NoDevFiles")]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number, _ in enumerate(lines)] if listed.returncode == 0 else []


def require_gpus(stages: Sequence[Stage], gpus: int) -> None:
    """A machine without a GPU would wait for one for ever."""
    asking = [stage for stage in stages if stage.gpus > gpus]
    if asking:
        first = asking[0]
        raise UserError(
            f"params.yaml: resources: {first.name} asks for {first.gpus} GPU, found {gpus} on this machine; "
            "take the request out, or run with --runner dask on workers that have one"
        )


class Devices:
    """Lends each GPU to one job at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        self.count = len(names)
        self._free: SimpleQueue[str] = SimpleQueue()
        for name in names:
            self._free.put(name)

    @contextmanager
    def lent(self, gpus: int) -> Iterator[dict[str, str]]:
        """The variables for a job that asks for so many. One that asks for none gets none, if there are any to lend."""
        names = [self._free.get() for _ in range(gpus)]
        try:
            yield {VISIBLE: ",".join(names)} if self.count else {}
        finally:
            for name in names:
                self._free.put(name)


class Local:
    """Runs stages in the workspace itself."""

    def __init__(self, root: Path, plan: Plan, jobs: int) -> None:
        self.root, self.jobs = root, jobs
        self.gpus = {stage.name: stage.gpus for stage in plan.todo if stage.gpus}
        self.devices = Devices(visible_gpus() if self.gpus else [])
        require_gpus(plan.todo, self.devices.count)

    @property
    def told(self) -> str:
        """For the first line of a run."""
        return f"{self.jobs} at a time"

    def room(self) -> Room:
        """What this machine has does not change."""
        return Room(self.jobs, self.devices.count)

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Bring one stage up to date."""
        with self.devices.lent(self.gpus.get(stage, 0)) as variables:
            return reproduce(self.root, stage, stop, variables=variables, force=force)


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
