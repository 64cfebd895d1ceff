"""Show how far the run is: a bar on a terminal, plain lines anywhere else (logs, CI)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pipelines.outcome import Outcome
from pipelines.plan import Plan, Stage
from pipelines.ready import OnEvent

_NAMES_SHOWN = 3


@contextmanager
def progress(plan: Plan, manner: str, stream: TextIO | None = None) -> Iterator[OnEvent]:
    """Yield what `drain` calls at every start and end of a stage."""
    stream = stream or sys.stderr
    total = len(plan.todo)
    print(f"{total} stage{'s' * (total != 1)} to bring up to date, {manner}", file=stream, flush=True)
    if not stream.isatty():
        yield Lines(total, stream)
        return
    with bar_of(stream) as bar:
        yield Bar(total, bar)


class Lines:
    """One line per start and one per end."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total, self.stream, self.settled = total, stream, 0

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Tell of a start (no outcome yet) or an end."""
        if outcome is None:
            self._print(f"start {stage.name} ({stage.why})")
            return
        self.settled += 1
        self._print(f"[{self.settled}/{self.total}] {describe(stage, outcome)}")

    def _print(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class Bar:
    """Done of total, what runs now, how many failed; failures also as lines above the bar."""

    def __init__(self, total: int, bar: Progress) -> None:
        self.bar = bar
        self.task = bar.add_task("benchmark", total=total, note="")
        self.running: list[str] = []
        self.failed = 0

    def __call__(self, stage: Stage, outcome: Outcome | None) -> None:
        """Show a start (no outcome yet) or an end."""
        if outcome is None:
            self.running.append(stage.name)
        else:
            self._settle(stage, outcome)
        self.bar.update(self.task, note=self._note())

    def _settle(self, stage: Stage, outcome: Outcome) -> None:
        if stage.name in self.running:
            self.running.remove(stage.name)
        if not outcome.good:
            self.failed += 1
            self.bar.console.print(describe(stage, outcome), markup=False, highlight=False)
        self.bar.advance(self.task)

    def _note(self) -> str:
        more = len(self.running) - _NAMES_SHOWN
        names = " ".join(self.running[:_NAMES_SHOWN]) + (f" +{more}" if more > 0 else "")
        return f"{names}  {self.failed} not done" if self.failed else names


def bar_of(stream: TextIO) -> Progress:
    """The bar's look."""
    note = TextColumn("{task.fields[note]}", markup=False)
    return Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), note, console=Console(file=stream))


def describe(stage: Stage, outcome: Outcome) -> str:
    """How one stage ended, and where to read why."""
    if outcome.kind == "blocked":
        return f"{stage.name} blocked: {outcome.cause} failed"
    ending = f"{stage.name} {outcome.kind}, {outcome.seconds:.1f} s"
    return ending if outcome.good else f"{ending}, see {outcome.log or outcome.cause}"
