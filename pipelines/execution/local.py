"""Run stages on this machine, each as `dvc repro --single-item` under a guard, with a GPU of its own if its cell asks.

The usable GPUs are those of `CUDA_VISIBLE_DEVICES`, or else those that `nvidia-smi` lists. Torch is not asked: it takes
seconds to import and would hold a context on every GPU.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

from ebmbench.errors import UserError
from pipelines.execution.process import reproduce
from pipelines.execution.warm import WarmDvc
from pipelines.outcome import STOPPED, Outcome
from pipelines.planning.plan import Plan, Stage
from pipelines.planning.resources import Capacity, count_jobs

_POLL_SECONDS = 0.2
VISIBLE = "CUDA_VISIBLE_DEVICES"


class Runner(Protocol):
    """Who runs the stages: a `LocalRunner` or a `ClusterRunner`."""

    @property
    def description(self) -> str:
        """How many at a time, or where; ends the first line of a run."""

    def capacity(self) -> Capacity:
        """How much may run at once, now."""

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Bring one stage up to date, or give up when `stop` is set. `force` runs it whatever DVC says."""


@contextmanager
def open_runner(root: Path, plan: Plan, jobs: int | None, scheduler: str | None, warm: WarmDvc) -> Iterator[Runner]:
    """A runner on this machine, or on the workers of a Dask scheduler; Dask is imported only then."""
    if scheduler is None:
        warm.load_libraries()
        yield LocalRunner(root, plan, count_jobs(jobs), warm)
        return
    from pipelines.cluster.client import connect

    with connect(root, plan, scheduler) as runner:
        yield runner


class LocalRunner:
    """Runs stages in the workspace itself."""

    def __init__(self, root: Path, plan: Plan, jobs: int, warm: WarmDvc | None = None) -> None:
        self.root, self.jobs, self.warm = root, jobs, warm
        self.gpus = {stage.name: stage.gpus for stage in plan.todo if stage.gpus}
        self.pool = GpuPool(visible_gpus() if self.gpus else [])
        _check_gpus(plan.todo, self.pool.size)

    @property
    def description(self) -> str:
        """How many at a time."""
        return f"{self.jobs} at a time"

    def capacity(self) -> Capacity:
        """The jobs and GPUs of this machine."""
        return Capacity(self.jobs, self.pool.size)

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Bring one stage up to date."""
        with self.pool.lend(self.gpus.get(stage, 0), stop) as variables:
            if variables is None:
                return Outcome(STOPPED)
            return reproduce(self.root, stage, stop, variables=variables, force=force, warm=self.warm)


class GpuPool:
    """Lends each GPU to one stage at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        self.size = len(names)
        self._free: SimpleQueue[str] = SimpleQueue()
        for name in names:
            self._free.put(name)

    @contextmanager
    def lend(self, gpus: int, stop: Event) -> Iterator[dict[str, str] | None]:
        """The environment variables of a stage with so many GPUs; one with none sees none of the pool's.

        None if `stop` was set before they were free.
        """
        names: list[str] = []
        try:
            while len(names) < gpus and not stop.is_set():
                with suppress(Empty):
                    names.append(self._free.get(timeout=_POLL_SECONDS))
            if len(names) < gpus:
                yield None
            else:
                yield {VISIBLE: ",".join(names)} if self.size else {}
        finally:
            for name in names:
                self._free.put(name)


def visible_gpus() -> list[str]:
    """The names of the usable GPUs, as `CUDA_VISIBLE_DEVICES` takes them."""
    if VISIBLE in os.environ:
        names = [name.strip() for name in os.environ[VISIBLE].split(",")]
        return [name for name in names if name not in ("", "-1", "NoDevFiles")]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number, _ in enumerate(lines)] if listed.returncode == 0 else []


def _check_gpus(stages: Sequence[Stage], gpus: int) -> None:
    """Refuse a plan that would wait forever for GPUs that this machine does not have."""
    for stage in stages:
        if stage.gpus > gpus:
            raise UserError(
                f"params.yaml: resources: {stage.name} asks for {stage.gpus} GPU, found {gpus} on this machine; "
                "remove the request, or run with --runner dask on workers that have one"
            )
