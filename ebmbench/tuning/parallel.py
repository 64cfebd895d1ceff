"""Several searches at a time, each in a process of its own with one torch thread.

All get the plan as it was read at the start, so that an edit of the space cannot give methods different searches. A
process that crashes or is killed fails its own method only; none outlives the command.
"""

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from ebmbench.core.code import freeze
from ebmbench.tuning.space import Plan
from ebmbench.tuning.table import Row

SPAWN = multiprocessing.get_context("spawn")


@dataclass
class Worker:
    """A search under way: its process, and our end of the pipe."""

    method: str
    process: BaseProcess
    pipe: Connection


@dataclass(frozen=True)
class Event:
    """A row is finished; or, without a row, a whole search: with all its rows, or with what went wrong."""

    method: str
    row: Row | None = None
    rows: list[Row] = field(default_factory=list)
    failure: str = ""


def searches(plan: Plan, methods: list[str], jobs: int) -> Iterator[Event]:
    """Run the searches of these methods, `jobs` at a time, and tell what happens as it happens."""
    waiting = list(methods)
    running: list[Worker] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_start(plan, waiting.pop(0)))
            ready = wait([worker.pipe for worker in running])
            for worker in [worker for worker in running if worker.pipe in ready]:
                event = _receive(worker)
                if event.row is None:
                    running.remove(worker)
                yield event
    finally:
        for worker in running:
            worker.process.kill()


def _start(plan: Plan, method: str) -> Worker:
    here, there = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_work, args=(plan, method, there), daemon=True)
    process.start()
    there.close()  # the child has the only other end: its death is then heard as the end of the pipe
    return Worker(method, process, here)


def _receive(worker: Worker) -> Event:
    try:
        event: Event = worker.pipe.recv()
    except EOFError:
        worker.process.join()
        code = worker.process.exitcode
        event = Event(worker.method, failure=f"{worker.method}: its process ended with exit code {code}")
    if event.row is None:
        worker.process.join()
        worker.pipe.close()
    return event


def _work(plan: Plan, method: str, pipe: Connection) -> None:
    """The child: search, tell, and leave warnings and tracebacks in a log of its own."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    freeze(plan.root)  # trials are found again by their code, so no edit may come in between
    log = plan.root / "work" / "tuning" / f"{method}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as sys.stderr:
        try:
            pipe.send(Event(method, rows=_searched(plan, method, pipe)))
        except Exception as error:
            traceback.print_exc()
            pipe.send(Event(method, failure=f"{error} (work/tuning/{method}.log has more)"))


def _searched(plan: Plan, method: str, pipe: Connection) -> list[Row]:
    import torch

    from ebmbench.tuning.search import search

    torch.set_num_threads(1)
    return search(plan, method, lambda row: pipe.send(Event(method, row)))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
