"""`ebmbench worker ADDRESS`: this machine's slots, each a Dask worker of one thread with a clone and a GPU of its own.

The command may be given in any clone of the project, even in one that is worked in: slots are in `work/workers/`.
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
from pipelines.cluster.slot import Slot
from pipelines.execution.dvc import environment
from pipelines.execution.local import VISIBLE, visible_gpus
from pipelines.execution.process import Process, guarded
from pipelines.planning.resources import jobs_or_cores

_DEATH_SECONDS = 60  # without a scheduler for so long, a worker ends
_POLL_SECONDS = 0.5


def serve(root: Path, scheduler: str, jobs: int | None) -> int:
    """Work for the scheduler until Ctrl-C, or until it is gone."""
    root = root.resolve()
    require_pipeline(root)
    require_remote(root)
    if find_spec("distributed") is None:
        raise UserError(f"ebmbench worker {NEEDS_EXTRA}")
    with ExitStack() as stack:
        workers = [
            stack.enter_context(_worker(slot, scheduler, gpu))
            for slot, gpu in _slots(root, jobs_or_cores(jobs), visible_gpus(), stack)
        ]
        slots = f"{len(workers)} slot{'s' * (len(workers) != 1)}"
        print(f"{slots} for {scheduler}, logs in {LOGS}; Ctrl-C stops", file=sys.stderr, flush=True)
        while all(process.poll() is None for process in workers):
            time.sleep(_POLL_SECONDS)
    raise UserError(f"a worker has ended: no scheduler at {scheduler}, or see {LOGS}/worker-*.log")


def _slots(root: Path, jobs: int, gpus: list[str], owner: ExitStack) -> Iterator[tuple[Slot, str | None]]:
    """The first slots that no other `ebmbench worker` holds; as many of them as there are GPUs get one."""
    number = 0
    for gpu in [*gpus[:jobs], *[None] * max(0, jobs - len(gpus))]:
        number += 1
        while not _held(root / WORKERS / f"worker-{number}.lock", owner):
            number += 1
        yield Slot(root / WORKERS / str(number), root), gpu


def _held(path: Path, owner: ExitStack) -> bool:
    """Hold a lock until `owner` is closed; whether it was free."""
    try:
        owner.enter_context(hold(path, "held by another worker"))
    except UserError:
        return False
    return True


@contextmanager
def _worker(slot: Slot, scheduler: str, gpu: str | None) -> Iterator[Process]:
    name = f"{socket.gethostname()}-{os.getpid()}-{slot.root.name}"
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--memory-limit", "0"]
    options += ["--death-timeout", str(_DEATH_SECONDS), "--local-directory", str(slot.root.parent / "dask")]
    options += ["--resources", "gpu=1"] if gpu is not None else []
    own = {**slot.variables(), **({VISIBLE: gpu} if gpu is not None else {})}
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *options]
    log = slot.source / LOGS / f"worker-{slot.root.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with guarded(command, log, slot.source, {**environment(), **own}) as process:
        yield process
