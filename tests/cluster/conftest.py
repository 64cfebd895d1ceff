"""A Dask scheduler, workers in clones of their own, and a folder as DVC remote: all real, on one machine."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.pipelines.conftest import *  # noqa: F403  the small DVC repositories and their homes
from tests.pipelines.conftest import _dvc, _wait_until

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
Popen = subprocess.Popen[str]


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Machines:
    """A main workspace, its remote, a scheduler, and whatever workers are started."""

    main: Path
    folder: Path
    api: str
    scheduler: str = ""
    stop_scheduler: Callable[[], None] = print
    owner: ExitStack = field(default_factory=ExitStack)

    def worker(self, name: str, jobs: int = 1, **variables: str) -> Popen:
        """`ebmbench worker` in a clone of its own, once it is connected."""
        clone = self.folder / name
        if not clone.exists():
            git(self.folder, "clone", "--quiet", str(self.main), name)
        command = [sys.executable, "-m", "ebmbench", "worker", self.scheduler, "--jobs", str(jobs)]
        process = self.owner.enter_context(_running(command, clone, clone.with_suffix(".log"), variables))
        logs = clone / "work/flow/logs"
        _wait_until(lambda: len(_registered(logs)) >= jobs, 120, f"{name} is connected")
        return process

    def run(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """The flow on the workers, to its end."""
        return subprocess.run(
            self.command(*options), env=self.environment(), capture_output=True, text=True, check=False
        )

    def start(self, *options: str) -> Popen:
        """The flow on the workers, in the background."""
        return self.owner.enter_context(
            _running(self.command(*options), self.main, self.folder / "flow.log", self.environment())
        )

    def command(self, *options: str) -> list[str]:
        """The flow, as a user starts it."""
        whole = [sys.executable, "-m", "pipelines.benchmark", "--root", str(self.main)]
        return [*whole, "--runner", "dask", "--scheduler", self.scheduler, *options]

    def environment(self) -> dict[str, str]:
        """With one Prefect server for all."""
        return {**os.environ, "PREFECT_API_URL": self.api}

    def executions(self) -> dict[str, int]:
        """How often each stage's command was run, from every log that anybody wrote."""
        counts: dict[str, int] = {}
        for log in [
            *self.main.glob("work/flow/logs/*.log"),
            *self.folder.glob("*/work/workers/*/work/flow/logs/*.log"),
        ]:
            if log.is_relative_to(self.main) and log.name not in ("report.log", "download.log"):
                continue  # a copy of the worker's
            for stage in re.findall(r"^Running stage '(.+)':", log.read_text(), re.MULTILINE):
                counts[stage] = counts.get(stage, 0) + 1
        return counts


def _registered(logs: Path) -> list[Path]:
    return [log for log in logs.glob("worker-*.log") if "Registered to" in log.read_text()]


@contextmanager
def _running(command: list[str], folder: Path, log: Path, variables: dict[str, str]) -> Iterator[Popen]:
    with log.open("a") as file:
        env = {**os.environ, **variables}
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file, text=True)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture
def machines(workspace: Path, tmp_path: Path, api: str) -> Iterator[Machines]:
    """The small repository, committed, with a folder as its remote; the scheduler runs, workers are yet to come."""
    # A stage without dependencies is never in the run-cache; the benchmark has none.
    pipeline = (workspace / "dvc.yaml").read_text()
    (workspace / "dvc.yaml").write_text(
        pipeline.replace('    outs: ["data', '    params: [benchmark.suite]\n    outs: ["data')
    )
    _dvc(workspace, "remote", "add", "--quiet", "--default", "store", str(tmp_path / "store"))
    git(workspace, "add", "-A")
    git(workspace, *IDENTITY, "commit", "--quiet", "--message", "begin")
    with ExitStack() as owner:
        found = Machines(workspace, tmp_path, api, owner=owner)
        log = tmp_path / "scheduler.log"
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        scheduler = owner.enter_context(_running([*command, "--no-dashboard"], tmp_path, log, {}))
        found.stop_scheduler = scheduler.kill
        _wait_until(lambda: "Scheduler at:" in log.read_text(), 60, "the scheduler listens")
        address = re.search(r"Scheduler at:\s+(\S+)", log.read_text())
        assert address
        found.scheduler = address[1]
        yield found
