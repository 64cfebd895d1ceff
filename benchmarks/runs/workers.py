"""A Dask scheduler and workers on this machine, each worker in a clone of its own, with a folder as DVC remote."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def start_workers(root: Path, env: dict[str, str], workers: int) -> Iterator[tuple[str, ...]]:
    """Start a scheduler with so many workers and yield its address; with no workers, nothing."""
    if not workers:
        yield ()
        return
    folder = root.parent
    _call(root, env, sys.executable, "-m", "dvc", "remote", "add", "--default", "store", str(folder / "store"))
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.invalid")
    _call(root, env, "git", "add", "-A")
    _call(root, env, "git", *identity, "commit", "--quiet", "--message", "as measured")
    with ExitStack() as stack:
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        log = stack.enter_context(_run_beside("distributed.cli.dask_scheduler", options, folder, env))
        address = _wait_for(log, r"Scheduler at:\s+(\S+)")
        for number in range(workers):
            clone = folder / f"worker-{number}"
            _call(folder, env, "git", "clone", "--quiet", str(root), str(clone))
            stack.enter_context(_run_beside("ebmbench", ("worker", address, "--jobs", "1"), clone, env))
        for number in range(workers):
            _wait_for(folder / f"worker-{number}/work/flow/logs/worker-1.log", r"(Registered to)")
        yield (address,)


def _call(folder: Path, env: dict[str, str], *command: str) -> None:
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)


@contextmanager
def _run_beside(module: str, options: tuple[str, ...], folder: Path, env: dict[str, str]) -> Iterator[Path]:
    """Run a process for as long as the block lasts, and yield the file of its output."""
    log = folder.with_suffix(".out")
    with log.open("wb") as file:
        command = [sys.executable, "-m", module, *options]
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield log
    finally:
        process.terminate()
        process.wait()


def _wait_for(log: Path, pattern: str) -> str:
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        if log.exists() and (found := re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))):
            return found[1]
        time.sleep(0.2)
    raise SystemExit(f"{log}: {pattern} did not appear")
