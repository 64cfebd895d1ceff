"""The searches of several methods, each in a process of its own with one torch thread.

Round 1 goes on until every method has as many trials as the one whose walk was longest, and as the methods of the table
that are not searched now; then the last round begins. All processes get the plan as it was read at the start, so that
an edit of the space cannot give methods different searches. A process that crashes or is killed fails its own method
only; none outlives the command. The table and the report are written as each search is finished, the winners are
printed at the end.
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
from ebmbench.tuning.curves import FIGURE, compute_curves, draw_curves
from ebmbench.tuning.grid import base_section, set_values, settings_values
from ebmbench.tuning.report import render_report
from ebmbench.tuning.searches import note_search
from ebmbench.tuning.space import Plan
from ebmbench.tuning.trials import TABLE, Row, merge_rows, of_method, read_table, winner, write_table
from ebmbench.workspace.code_hash import freeze
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DEFAULTS, TUNING_LOGS, lock_file
from ebmbench.workspace.locks import hold

SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Task:
    """A part of a method's search: round 1 up to at least so many trials, or, without a number, the last round.

    `rows` are the trials of round 1 that are finished.
    """

    method: str
    rows: list[Row] = field(default_factory=list)
    least: int | None = None


@dataclass
class Worker:
    """A task under way: its process, and our end of the pipe."""

    method: str
    process: BaseProcess
    pipe: Connection


@dataclass(frozen=True)
class Event:
    """A row is finished; or, without a row, a whole task: with all its rows, or with what went wrong."""

    method: str
    row: Row | None = None
    rows: list[Row] = field(default_factory=list)
    failure: str = ""


def perform(plan: Plan, tasks: list[Task], jobs: int) -> Iterator[Event]:
    """Do these tasks, `jobs` at a time; yields each event as it happens."""
    waiting = list(tasks)
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


def _start(plan: Plan, task: Task) -> Worker:
    here, there = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_work, args=(plan, task, there), daemon=True)
    process.start()
    there.close()  # the child has the only other end, so that its death ends the pipe
    return Worker(task.method, process, here)


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


def _work(plan: Plan, task: Task, pipe: Connection) -> None:
    """The child process: search, send events, and write warnings and tracebacks to a log."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    freeze(plan.root)  # trials are found again by their code, so no edit may come in between
    log = plan.root / TUNING_LOGS / f"{task.method}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a" if task.rows else "w", encoding="utf-8") as sys.stderr:
        try:
            pipe.send(Event(task.method, rows=_do(plan, task, pipe)))
        except Exception as error:
            traceback.print_exc()
            pipe.send(Event(task.method, failure=f"{error} (work/tuning/{task.method}.log has more)"))


def _do(plan: Plan, task: Task, pipe: Connection) -> list[Row]:
    import torch

    from ebmbench.tuning.search import first_round, last_round

    torch.set_num_threads(1)

    def tell(row: Row) -> None:
        pipe.send(Event(task.method, row))

    if task.least is None:
        return last_round(plan, task.method, task.rows, tell)
    return first_round(plan, task.method, task.rows, task.least, tell)


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
    busy = "tune: another process is searching here; wait for it or stop it"
    expected = plan.space.trials.least + plan.space.finalists
    with hold(lock_file(plan.root, "tune"), busy), _Progress(expected * len(methods)) as progress:
        searches = Searches(plan, jobs, progress)
        first = searches.first_round(methods)
        for method, rows in searches.do([Task(method, rows) for method, rows in first.items()]):
            publish(plan, [*first[method], *rows])
    found = [method for method in methods if method not in searches.failures]
    rows = read_table(plan.root / plan.folder / TABLE)
    return Result(render_winners(plan, rows, found), f"{plan.folder}/report.md", list(searches.failures.values()))


class Searches:
    """Does tasks, shows their progress, and remembers which methods failed."""

    def __init__(self, plan: Plan, jobs: int, progress: "_Progress") -> None:
        self.plan = plan
        self.jobs = jobs
        self.progress = progress
        self.failures: dict[str, str] = {}

    def do(self, tasks: list[Task]) -> Iterator[tuple[str, list[Row]]]:
        """The rows of each task that ends well, as it ends."""
        for event in perform(self.plan, tasks, self.jobs):
            self.progress.show(event)
            if event.failure:
                self.failures[event.method] = event.failure
            elif event.row is None:
                yield event.method, event.rows

    def first_round(self, methods: list[str]) -> dict[str, list[Row]]:
        """Round 1: as many trials for each method as for the one that needs most, unless its settings run out."""
        table = read_table(self.plan.root / self.plan.folder / TABLE)
        others = [len(of_method(table, method, 1)) for method in self.plan.space.methods if method not in methods]
        least = max(self.plan.space.trials.least, *others, 0)
        rows: dict[str, list[Row]] = {}
        waiting = methods
        while waiting:
            rows |= self.do([Task(method, rows.get(method, []), least) for method in waiting])
            asked, least = least, max(least, *map(len, rows.values()), 0)
            short = [method for method in rows if len(rows[method]) < least and method not in self.failures]
            waiting = short if least > asked else []  # who is short of what was asked for has no more settings
        return {method: rows[method] for method in methods if method not in self.failures}


def publish(plan: Plan, new: list[Row]) -> None:
    """Put new rows into the table, note how they were searched, write the report of all, and draw its figure."""
    folder = plan.root / plan.folder
    rows = merge_rows(read_table(folder / TABLE), new, list(plan.space.methods))
    write_table(folder / TABLE, rows)
    searches = note_search(plan, folder, sorted({row.method for row in new}))
    write_text(folder / "report.md", render_report(plan, rows, searches))
    if curves := compute_curves(rows):
        draw_curves(curves, folder / FIGURE)


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
        section = set_values(plan.base(method), settings_values(best.settings))
        same = section == base_section(method, plan.defaults)
        place = DEFAULTS if plan.special is None else f"{DEFAULTS}, {plan.section}"
        text.write(f"# {method}: {'as' if same else 'not as'} in {place}\n")
        yaml.dump({method: section}, text)
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
            self.bar.total = max(self.bar.total, self.bar.n + 1)  # a walk may be longer than expected
            self.bar.update()
            self.bar.set_description(row.method)
            if self.bar.disable:
                value = f"{row.value:.4f}" if row.ended_well else row.status
                print(f"{row.method} round {row.round} trial {row.trial}: {value} ({row.settings})", flush=True)
        elif event.failure and self.bar.disable:
            print(f"failed: {event.failure}", file=sys.stderr, flush=True)
