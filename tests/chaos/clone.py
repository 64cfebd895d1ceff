"""A clone of the project to ill-treat: start its flow, see what runs in it, and bring it back to its first state."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.pipelines.conftest import processes_in
from tests.workflow.conftest import Clone

# Two cells of two runs: seconds in every kind of stage, and trainings that are longer than a checkpoint is old.
SUITE = """\
# For scripts that kill: small, but long enough to be hit everywhere.
benchmark:
  suite: tiny
  seeds: [0, 1]
  datasets: [two_moons]
  methods: [nce, dsm]
training: {budget: 400_000, rows: 100, snapshots: [0.5]}
sampling: {chains: 2_000, sampler: {steps: 200}}
metrics: {cells: 256, block: 500}
methods: {dsm: {sigma: 0.1}}
"""
MADE = ("prepared", "features", "runs", "work", "reports", "dvc.lock", ".dvc/cache", ".dvc/tmp")


def start_flow(clone: Clone, log: Path, own_server: bool) -> "subprocess.Popen[bytes]":
    """`ebmbench run` with two jobs; with a Prefect server of its own, or with the clone's."""
    env = clone.environment()
    if own_server:
        del env["PREFECT_API_URL"]
    command = [sys.executable, "-m", "ebmbench", "run", "--jobs", "2"]
    with log.open("ab") as file:
        return subprocess.Popen(command, cwd=clone.root, env=env, stdout=file, stderr=file, start_new_session=True)


def stages_running(clone: Clone) -> list[str]:
    """The stages that run, as far as the names of their processes go, and `prefect` if a server runs here."""
    processes = processes_in(clone.root)
    found = {name for pid in processes if re.match(r"[a-z]+@|report", name := _process_name(pid))}
    return sorted(found | {"prefect" for command in processes.values() if "uvicorn" in command})


def _process_name(pid: int) -> str:
    """The first 15 letters of its name, which a stage sets to its own."""
    with suppress(OSError):  # it has ended
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    return ""


def seconds_until(true: Callable[[], object], patience: float) -> float | None:
    """How long it took to become true, or None if it did not."""
    start = time.monotonic()
    while not true():
        if time.monotonic() - start > patience:
            return None
        time.sleep(0.1)
    return time.monotonic() - start


def stale(clone: Clone) -> set[str]:
    """What the next run would do; nothing if it cannot even be planned."""
    command = [sys.executable, "-m", "ebmbench", "run", "--dry-run", "--json"]
    answer = subprocess.run(command, cwd=clone.root, env=clone.environment(), capture_output=True, check=False)
    return set(json.loads(answer.stdout).get("stages", ()))


def make_anew(clone: Clone) -> None:
    """As if nothing had ever run."""
    for name in MADE:
        path = clone.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
