"""`ebmbench worker ADDRESS`: start Dask workers of one thread, each with a clone of its own and a GPU if there is one.

The command may be given in any clone of the project, even one that the user works in: its own are in `work/workers/`.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from ebmbench.errors import UserError
from ebmbench.workspace.layout import LOGS, WORKERS, require_pipeline
from ebmbench.workspace.locks import hold
from pipelines.cluster import NEEDS_EXTRA
from pipelines.cluster.remote import require_remote
from pipelines.cluster.worker_clone import WorkerClone
from pipelines.execution.dvc import environment
from pipelines.execution.local import VISIBLE, visible_gpus
from pipelines.execution.process import Process, start_guarded
from pipelines.planning.resources import count_jobs

_DEATH_SECONDS = 60  # without a scheduler a worker ends after this time
_POLL_SECONDS = 0.5


def run_workers(root: Path, scheduler: str, jobs: int | None) -> int:
    """Run workers for the scheduler until Ctrl-C, or until it is gone."""
    root = root.resolve()
    require_pipeline(root)
    require_remote(root)
    if find_spec("distributed") is None:
        raise UserError(f"ebmbench worker {NEEDS_EXTRA}")
    with ExitStack() as stack:
        workers = [
            stack.enter_context(_start_worker(clone, scheduler, gpu))
            for clone, gpu in _lock_clones(root, count_jobs(jobs), visible_gpus(), stack)
        ]
        count = f"{len(workers)} worker{'s' * (len(workers) != 1)}"
        print(f"{count} for {scheduler}, logs in {LOGS}; Ctrl-C stops", file=sys.stderr, flush=True)
        while all(process.poll() is None for process in workers):
            time.sleep(_POLL_SECONDS)
    raise UserError(f"a worker has ended: no scheduler at {scheduler}, or see {LOGS}/worker-*.log")


def _lock_clones(root: Path, jobs: int, gpus: list[str], owner: ExitStack) -> Iterator[tuple[WorkerClone, str | None]]:
    """The first clones that no other `ebmbench worker` uses, with a GPU each while there are any."""
    number = 0
    for gpu in [*gpus[:jobs], *[None] * max(0, jobs - len(gpus))]:
        number += 1
        while not _lock(root / WORKERS / f"worker-{number}.lock", owner):
            number += 1
        yield WorkerClone(root / WORKERS / str(number), root), gpu


def _lock(path: Path, owner: ExitStack) -> bool:
    """Hold a lock until `owner` is closed; returns whether it was free."""
    try:
        owner.enter_context(hold(path, "held by another worker"))
    except UserError:
        return False
    return True


@contextmanager
def _start_worker(clone: WorkerClone, scheduler: str, gpu: str | None) -> Iterator[Process]:
    name = f"{socket.gethostname()}-{os.getpid()}-{clone.root.name}"
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--memory-limit", "0"]
    options += ["--death-timeout", str(_DEATH_SECONDS), "--local-directory", str(clone.root.parent / "dask")]
    options += ["--resources", "gpu=1"] if gpu is not None else []
    own = {**clone.variables(), **({VISIBLE: gpu} if gpu is not None else {})}
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *options]
    log = clone.source / LOGS / f"worker-{clone.root.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with start_guarded(command, log, clone.source, {**environment(), **own}) as process:
        yield process
