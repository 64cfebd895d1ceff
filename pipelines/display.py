"""Show how far a run is: on a terminal a bar and a line for each running stage, anywhere else plain lines.

Both say about how long the rest will take (`estimate.py`).

A stage writes its progress to a file about once a second (`ebmbench/workspace/progress.py`); this module reads it.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import PARAMS_YAML, PULSES, cell_folder
from pipelines.estimate import Estimate
from pipelines.execution.queue import OnEvent
from pipelines.outcome import BLOCKED, FAILED, RAN, Outcome
from pipelines.planning.plan import Plan, Stage
from pipelines.planning.selection import suite_cells

_REFRESH_SECONDS = 1.0
_LINE_SECONDS = 60.0  # between two lines about a stage that still runs
_METRICS = 3  # so many are shown
_IMAGE_METRICS = ("short.fid_ratio", "long.fid_ratio", "data.fid_ratio")  # by the kind of samples
_JOIN_SECONDS = 2.0  # a call that hangs on a dead server is not waited for longer


@dataclass(frozen=True)
class StageProgress:
    """Run `run` of `runs`; `share` of it is done after `step` steps; `ends` is when the stage should be done."""

    run: int
    runs: int
    share: float | None = None
    step: int | None = None
    ends: float | None = None

    @property
    def fraction(self) -> float:
        """How much of the whole stage is done, from 0 to 1."""
        return min(1.0, (self.run - 1 + (self.share or 0.0)) / self.runs)

    def describe(self, now: float | None = None) -> str:
        """All that is known, as `run 2 of 3, step 1200, 50 %, 1:15 left`."""
        words = [f"run {self.run} of {self.runs}"] if self.runs > 1 else []
        words += [f"step {self.step}"] if self.step is not None else []
        words += [f"{100 * self.fraction:.0f} %"] if self.share is not None else []
        if self.ends is not None:
            words.append(f"{format_time(max(0.0, self.ends - (time.time() if now is None else now)))} left")
        return ", ".join(words)


ReadProgress = Callable[[str], StageProgress | None]  # by the name of a stage
ReadNumbers = Callable[[str], str]


def format_time(seconds: float) -> str:
    """`m:ss`, or `h:mm:ss` from an hour on."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress_file(root: Path, stage: str) -> Iterator[Path]:
    """The file for a stage's progress; it does not exist before or after the block."""
    path = _progress_path(root, stage)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def progress_reader(root: Path) -> ReadProgress:
    """A function that reads the progress of a running stage of the workspace."""

    def read(stage: str) -> StageProgress | None:
        try:
            return StageProgress(**read_json(_progress_path(root, stage)))
        except (OSError, UserError, TypeError):  # nothing written yet, or by another version
            return None

    return read


def numbers_reader(root: Path) -> ReadNumbers:
    """A function that reads the first metrics of a cell that was evaluated, and is empty for other stages."""
    benchmark = lookup(read_mapping(root / PARAMS_YAML), "benchmark") or {}
    cells, metrics = suite_cells(root), list(dict.fromkeys([*(benchmark.get("metrics") or []), *_IMAGE_METRICS]))

    def read(stage: str) -> str:
        kind, _, item = stage.partition("@")
        if kind != "evaluate" or item not in cells:
            return ""
        try:
            runs = read_json(cell_folder(root, str(benchmark.get("suite")), *cells[item].split("/")) / "metrics.json")
            groups: dict[str, list[dict[str, Any]]] = {}
            for label, values in runs.items():
                groups.setdefault(label.rpartition("seed=")[0].rstrip("/"), []).append(values)
            return "; ".join(_describe_runs(setting, values, metrics) for setting, values in groups.items())
        except (OSError, UserError, TypeError, AttributeError):  # not a cell of ours
            return ""

    return read


def _describe_runs(setting: str, runs: list[dict[str, Any]], metrics: list[str]) -> str:
    """`interval=5: kl 0.0156 (0.0149 to 0.0162), ...`: means over the seeds, and the smallest and largest value."""
    words: list[str] = []
    for metric in metrics:
        values = [value for run in runs if isinstance(value := lookup(run, metric), float | int)]
        if values and len(words) < _METRICS:
            spread = f" ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else ""
            words.append(f"{metric} {sum(values) / len(values):.3g}{spread}")
    return (f"{setting}: " if setting else "") + (", ".join(words) or "no value")


def _progress_path(root: Path, stage: str) -> Path:
    return root / PULSES / f"{stage.replace(os.sep, '_')}.json"


@contextmanager
def repeat(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call a function every few seconds while the block runs, in a thread with the caller's context variables."""
    done = Event()

    def loop() -> None:
        while not done.wait(seconds):
            call()

    thread = Thread(target=copy_context().run, args=(loop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_JOIN_SECONDS)


@contextmanager
def show_progress(
    plan: Plan,
    runner: str,
    read: ReadProgress,
    stream: TextIO | None = None,
    numbers: ReadNumbers = lambda stage: "",
    costs: Mapping[str, float] | None = None,
) -> Iterator[OnEvent]:
    """Yield the function that `run_queue` calls at every start and end of a stage.

    `costs` are the seconds that stages took earlier, by name.
    """
    stream = stream or sys.stderr
    total = len(plan.todo)
    print(f"{total} stage{'s' * (total != 1)} to bring up to date, {runner}", file=stream, flush=True)
    with _make_bar(stream) if stream.isatty() else nullcontext() as bar:
        # Whoever runs some cells waits for their numbers; of a whole suite there would be too many.
        few = numbers if plan.only else lambda stage: ""
        clock = Clock(Estimate(costs or {}, [stage.name for stage in plan.todo]), read)
        display = Bars(total, clock, bar, few) if bar else Lines(total, clock, stream, numbers)
        with repeat(_REFRESH_SECONDS, display.refresh):
            yield display


class Clock:
    """When each running stage started, how far it is, and about how long the whole run will still take."""

    def __init__(self, estimate: Estimate, read: ReadProgress) -> None:
        self.estimate, self.read = estimate, read
        self.started: dict[str, float] = {}

    def note(self, stage: str, outcome: Outcome | None) -> None:
        """Note a start (no outcome yet) or an end."""
        if outcome is None:
            self.started[stage] = time.monotonic()
        else:
            self.started.pop(stage, None)
            self.estimate.end(stage, outcome.seconds if outcome.kind == RAN else None)

    def left(self) -> str:
        """`about 12:30 left`, or nothing if that is not known."""
        now = time.monotonic()
        progress = {name: self.read(name) for name in self.started}
        ends = {name: max(0.0, one.ends - time.time()) for name, one in progress.items() if one and one.ends}
        left = self.estimate.left({name: now - since for name, since in self.started.items()}, ends)
        return f"about {format_time(left)} left" if left else ""


class Lines:
    """For a log: one line per start and one per end, and one a minute for stages that still run."""

    def __init__(self, total: int, clock: Clock, stream: TextIO, numbers: ReadNumbers) -> None:
        self.total, self.clock, self.stream, self.numbers, self.settled = total, clock, stream, numbers, 0
        self.lock = Lock()
        self.running: dict[str, float] = {}  # the time of its last line

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Print a start (no outcome yet) or an end."""
        with self.lock:
            self.clock.note(stage.name, outcome)
            if outcome is None:
                self.running[stage.name] = time.monotonic()
                self._print(f"start {stage.name} ({stage.why})")
                return
            self.running.pop(stage.name, None)
            self.settled += 1
            place = ", ".join(filter(None, [f"{self.settled}/{self.total}", self.clock.left()]))
            self._print(f"[{place}] {describe(stage, outcome, self.numbers)}")

    def refresh(self) -> None:
        """Print a line about each stage that has had none for a minute."""
        with self.lock:
            now = time.monotonic()
            for name, last in self.running.items():
                if now - last >= _LINE_SECONDS:
                    self.running[name] = now
                    progress = self.clock.read(name)
                    detail = f": {progress.describe()}" if progress else ""
                    self._print(f"{name} has run for {format_time(now - self.clock.started[name])}{detail}")

    def _print(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class Bars:
    """For a terminal: a bar for all stages, one for each running stage, and a line above for each failure."""

    def __init__(self, total: int, clock: Clock, bar: Progress, numbers: ReadNumbers) -> None:
        self.bar, self.clock, self.total, self.numbers = bar, clock, total, numbers
        self.lock = Lock()
        self.task = bar.add_task("all stages", total=total, note="")
        self.running: dict[str, TaskID] = {}
        self.kinds: list[str] = []

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Show a start (no outcome yet) or an end."""
        with self.lock:
            self.clock.note(stage.name, outcome)
            if outcome is None:
                self.running[stage.name] = self.bar.add_task(stage.name, total=None, note="")
            else:
                self._settle(stage, outcome)
            self.bar.update(self.task, completed=len(self.kinds), note=self._note())

    def refresh(self) -> None:
        """Read the progress of every running stage, and estimate the rest."""
        with self.lock:
            for name, task in self.running.items():
                if progress := self.clock.read(name):
                    self.bar.update(task, total=1.0, completed=progress.fraction, note=progress.describe())
            self.bar.update(self.task, note=self._note())

    def _settle(self, stage: Stage, outcome: Outcome) -> None:
        if stage.name in self.running:
            self.bar.remove_task(self.running.pop(stage.name))
        self.kinds.append(outcome.kind)
        if not outcome.good or self.numbers(stage.name):
            self.bar.console.print(describe(stage, outcome, self.numbers), markup=False, highlight=False)

    def _note(self) -> str:
        bad = [f"{number} {kind}" for kind in (FAILED, BLOCKED) if (number := self.kinds.count(kind))]
        return ", ".join(filter(None, [f"{len(self.kinds)}/{self.total}", *bad, self.clock.left()]))


def _make_bar(stream: TextIO) -> Progress:
    name = TextColumn("{task.description}", markup=False)
    note = TextColumn("{task.fields[note]}", markup=False)
    # A narrow terminal shortens the bar, not the time.
    elapsed = TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True))
    return Progress(name, BarColumn(bar_width=12), elapsed, note, console=Console(file=stream))


def describe(stage: Stage, outcome: Outcome, numbers: ReadNumbers = lambda stage: "") -> str:
    """How a stage ended, with the numbers of a cell, or where to read why it failed."""
    if outcome.kind == BLOCKED:
        return f"{stage.name} blocked: {outcome.cause} failed"
    ending = f"{stage.name} {outcome.kind}, {outcome.seconds:.1f} s"
    if not outcome.good:
        return f"{ending}, see {outcome.log or outcome.cause}"
    return f"{ending}: {found}" if (found := numbers(stage.name)) else ending
