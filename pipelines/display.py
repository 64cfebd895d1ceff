"""How far the running stages are, from the files in which they tell it (`ebmbench/workspace/progress.py`).

Show how far the run is: on a terminal a bar and a line for each running stage, anywhere else plain lines.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from ebmbench.errors import UserError
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import PULSES
from pipelines.execution.queue import OnEvent
from pipelines.outcome import BLOCKED, FAILED, Outcome
from pipelines.planning.plan import Plan, Stage


@dataclass(frozen=True)
class Pulse:
    """Run `run` of `runs`, `share` of it done after `step` steps; all will be done at the time `ends`, if known."""

    run: int
    runs: int
    share: float | None = None
    step: int | None = None
    ends: float | None = None

    @property
    def fraction(self) -> float:
        """How much of the whole stage is done, from 0 to 1."""
        return min(1.0, (self.run - 1 + (self.share or 0.0)) / self.runs)

    def told(self, now: float | None = None) -> str:
        """In words, as far as known."""
        words = [f"run {self.run} of {self.runs}"] if self.runs > 1 else []
        words += [f"step {self.step}"] if self.step is not None else []
        words += [f"{100 * self.fraction:.0f} %"] if self.share is not None else []
        if self.ends is not None:
            words.append(f"{clock(max(0.0, self.ends - (time.time() if now is None else now)))} left")
        return ", ".join(words)


Look = Callable[[str], Pulse | None]  # by the name of a stage


def clock(seconds: float) -> str:
    """Minutes and seconds, hours before them if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def pulse_of(root: Path, stage: str) -> Iterator[Path]:
    """Where a stage may tell its progress while the block runs; before and after it nothing is told there."""
    path = _path(root, stage)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def looking_in(root: Path) -> Look:
    """What asks a stage of that workspace."""

    def look(stage: str) -> Pulse | None:
        try:
            return Pulse(**read_json(_path(root, stage)))
        except (OSError, UserError, TypeError):  # it has told nothing yet, or is of another version
            return None

    return look


def _path(root: Path, stage: str) -> Path:
    return root / PULSES / f"{stage.replace(os.sep, '_')}.json"


_LAST_CALL_SECONDS = 2.0  # a call that waits for a server that has gone is not waited for


@contextmanager
def every(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call it in a thread, which sees the context of the caller, until the block is left."""
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
        thread.join(_LAST_CALL_SECONDS)


_LOOK_SECONDS = 1.0
_LINE_SECONDS = 60.0  # between two lines about a stage that still runs


@contextmanager
def progress(plan: Plan, manner: str, look: Look, stream: TextIO | None = None) -> Iterator[OnEvent]:
    """Yield what `drain` calls at every start and end of a stage; in between `look` tells how far each is."""
    stream = stream or sys.stderr
    total = len(plan.todo)
    print(f"{total} stage{'s' * (total != 1)} to bring up to date, {manner}", file=stream, flush=True)
    if not stream.isatty():
        lines = Lines(total, look, stream)
        with every(_LOOK_SECONDS, lines.refresh):
            yield lines
        return
    with bar_of(stream) as bar:
        shown = Bar(total, look, bar)
        with every(_LOOK_SECONDS, shown.refresh):
            yield shown


class Lines:
    """One line per start and one per end, and one a minute for what takes longer."""

    def __init__(self, total: int, look: Look, stream: TextIO) -> None:
        self.total, self.look, self.stream, self.settled = total, look, stream, 0
        self.lock = Lock()
        self.running: dict[str, tuple[float, float]] = {}  # when it started, and when it was last told of

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Tell of a start (no outcome yet) or an end."""
        with self.lock:
            if outcome is None:
                self.running[stage.name] = (time.monotonic(),) * 2
                self._print(f"start {stage.name} ({stage.why})")
                return
            self.running.pop(stage.name, None)
            self.settled += 1
            self._print(f"[{self.settled}/{self.total}] {describe(stage, outcome)}")

    def refresh(self) -> None:
        """Tell of stages about which nothing has been said for a while."""
        with self.lock:
            now = time.monotonic()
            for name, (started, told) in self.running.items():
                if now - told >= _LINE_SECONDS:
                    self.running[name] = (started, now)
                    pulse = self.look(name)
                    said = f": {pulse.told()}" if pulse else ""
                    self._print(f"{name} has run for {clock(now - started)}{said}")

    def _print(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class Bar:
    """Done of total and how many failed; below it each running stage; what was not done also as lines above."""

    def __init__(self, total: int, look: Look, bar: Progress) -> None:
        self.bar, self.look, self.total = bar, look, total
        self.lock = Lock()
        self.task = bar.add_task("all stages", total=total, note="")
        self.running: dict[str, TaskID] = {}
        self.kinds: list[str] = []

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Show a start (no outcome yet) or an end."""
        with self.lock:
            if outcome is None:
                self.running[stage.name] = self.bar.add_task(stage.name, total=None, note="")
            else:
                self._settle(stage, outcome)
            self.bar.update(self.task, completed=len(self.kinds), note=self._note())

    def refresh(self) -> None:
        """Ask every running stage how far it is."""
        with self.lock:
            for name, task in self.running.items():
                if pulse := self.look(name):
                    self.bar.update(task, total=1.0, completed=pulse.fraction, note=pulse.told())

    def _settle(self, stage: Stage, outcome: Outcome) -> None:
        if stage.name in self.running:
            self.bar.remove_task(self.running.pop(stage.name))
        self.kinds.append(outcome.kind)
        if not outcome.good:
            self.bar.console.print(describe(stage, outcome), markup=False, highlight=False)

    def _note(self) -> str:
        bad = [f"{number} {kind}" for kind in (FAILED, BLOCKED) if (number := self.kinds.count(kind))]
        return ", ".join([f"{len(self.kinds)}/{self.total}", *bad])


def bar_of(stream: TextIO) -> Progress:
    """The bars' look."""
    name = TextColumn("{task.description}", markup=False)
    note = TextColumn("{task.fields[note]}", markup=False)
    # On a narrow terminal the bar gives way, not the time.
    elapsed = TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True))
    return Progress(name, BarColumn(bar_width=12), elapsed, note, console=Console(file=stream))


def describe(stage: Stage, outcome: Outcome) -> str:
    """How one stage ended, and where to read why."""
    if outcome.kind == BLOCKED:
        return f"{stage.name} blocked: {outcome.cause} failed"
    ending = f"{stage.name} {outcome.kind}, {outcome.seconds:.1f} s"
    return ending if outcome.good else f"{ending}, see {outcome.log or outcome.cause}"
