"""The searches of several methods, each in a process of its own with one torch thread.

All processes get the plan as it was read at the start, so that an edit of the space cannot give methods different
searches. A process that crashes or is killed fails its own method only; none outlives the command. The table and the
report are written as each search is finished, the winners are printed at the end.
"""

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from ruamel.yaml import YAML
from tqdm import tqdm

from ebmbench.config.params import Params
from ebmbench.tuning.report import render_report
from ebmbench.tuning.search import steps
from ebmbench.tuning.space import Plan, base_section, set_values
from ebmbench.tuning.trials import FOLDER, Row, merge_rows, of_method, read_table, settings_values, winner, write_table
from ebmbench.workspace.code_hash import freeze
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DEFAULTS, TUNING_LOGS, lock_file
from ebmbench.workspace.locks import hold

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
    """Run the searches of these methods, `jobs` at a time; yields each event as it happens."""
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
    there.close()  # the child has the only other end, so that its death ends the pipe
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
    """The child process: search, send events, and write warnings and tracebacks to a log."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    freeze(plan.root)  # trials are found again by their code, so no edit may come in between
    log = plan.root / TUNING_LOGS / f"{method}.log"
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


@dataclass(frozen=True)
class Result:
    """What the command prints at the end."""

    snippet: str
    report: str
    failures: list[str]


def tune(plan: Plan, methods: list[str], jobs: int) -> Result:
    """Search for the defaults of these methods; rows of the others stay as they are."""
    failures: dict[str, str] = {}
    busy = "tune: another process is searching here; wait for it or stop it"
    with (
        hold(lock_file(plan.root, "tune"), busy),
        _Progress(sum(steps(plan, method) for method in methods)) as progress,
    ):
        for event in searches(plan, methods, jobs):
            progress.show(event)
            if event.failure:
                failures[event.method] = event.failure
            elif event.row is None:
                publish(plan, event.rows)
    rows = read_table(plan.root / FOLDER / "trials.csv")
    found = [method for method in methods if method not in failures]
    return Result(render_winners(plan, rows, found), f"{FOLDER}/report.md", list(failures.values()))


def publish(plan: Plan, new: list[Row]) -> None:
    """Put new rows into the table, and write the report of all."""
    table = plan.root / FOLDER / "trials.csv"
    rows = merge_rows(read_table(table), new, list(plan.space.methods))
    write_table(table, rows)
    write_text(table.with_name("report.md"), render_report(plan, rows))


def render_winners(plan: Plan, rows: list[Row], methods: list[str]) -> str:
    """The winners as sections of `suites/defaults.yaml`; a comment says whether they are its values already."""
    text = StringIO()
    yaml = YAML()
    yaml.width = 130
    for method in methods:
        best = winner(of_method(rows, method))
        if best is None:
            text.write(f"# {method}: no winner\n")
            continue
        same = equals_defaults(plan.defaults, best)
        text.write(f"# {method}: {'as' if same else 'not as'} in {DEFAULTS}\n")
        yaml.dump({method: set_values(base_section(method, plan.defaults), settings_values(best.settings))}, text)
    return text.getvalue()


def equals_defaults(defaults: Params, best: Row) -> bool:
    """Whether a winner's settings are those of the defaults."""
    section = base_section(best.method, defaults)
    return section == set_values(section, settings_values(best.settings))


class _Progress:
    """A bar on a terminal, a line per finished trial elsewhere."""

    def __init__(self, total: int) -> None:
        self.bar = tqdm(total=total, unit=" trials", disable=None)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, event: Event) -> None:
        """Count a row, or print what failed."""
        if event.row is not None:
            row = event.row
            self.bar.update()
            self.bar.set_description(row.method)
            if self.bar.disable:
                value = f"{row.value:.4f}" if row.ended_well else row.status
                print(f"{row.method} round {row.round} trial {row.trial}: {value} ({row.settings})", flush=True)
        elif event.failure and self.bar.disable:
            print(f"failed: {event.failure}", file=sys.stderr, flush=True)
