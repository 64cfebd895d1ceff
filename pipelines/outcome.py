"""What became of the stages: an outcome each, and the run's result, kept in `work/flow/outcomes.json`.

The end of a run: one outcome for every stage that was to do, and for every cell the worst of its stages'.

`--dry-run`: which stages a run would bring up to date, and why each is stale. Nothing runs, nothing is written.

How a run, or the plan of one, is told: as text, or with `--json` as one object on stdout and nothing else there.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from ebmbench.errors import UserError
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.layout import OUTCOMES, REPORT, report_of, require_pipeline
from ebmbench.workspace.locks import require_idle
from pipelines.execution.signals import EXIT_STOPPED, exit_code_of_stop
from pipelines.planning.plan import Plan, read_plan
from pipelines.planning.selection import cells_of

RAN, RESTORED, SKIPPED = "ran", "restored", "skipped"
FAILED, BLOCKED, STOPPED = "failed", "blocked", "stopped"
GOOD = frozenset({RAN, RESTORED, SKIPPED})

EXIT_FAILED = 1


@dataclass(frozen=True)
class Outcome:
    """`kind` is one of the six words above; `cause` says why a stage did not run or did not end well."""

    kind: str
    seconds: float = 0.0
    log: str | None = None
    cause: str | None = None

    @property
    def good(self) -> bool:
        """Whether the stage's outputs are now what they should be."""
        return self.kind in GOOD


@dataclass(frozen=True)
class Result:
    """A run of the benchmark as a whole.

    `cells` has one outcome for each `dataset/method`, the worst of its stages', with the seconds of all. `stopped`
    says how it was stopped, if it was. `since` is one line about what moved since the last release, `comparison` the
    page about it.
    """

    stages: Mapping[str, Outcome] = field(default_factory=dict)
    cells: Mapping[str, Outcome] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    seconds: float = 0.0
    report: str | None = None
    exit_code: int = 0
    stopped: str | None = None
    since: str | None = None
    comparison: str | None = None

    @property
    def failed(self) -> dict[str, Outcome]:
        """The stages that failed themselves, without those they blocked."""
        return {name: outcome for name, outcome in self.stages.items() if outcome.kind == FAILED}

    @property
    def message(self) -> str:
        """What to tell the user at the end."""
        if self.stopped:
            return f"{self.stopped}; run again to go on"
        if not self.stages:
            return up_to_date(self.only)
        lines = [f"{self._counts()} in {self.seconds:.0f} s"]
        lines += [_failure(name, bad) for name, bad in self.failed.items()]
        return "\n".join(lines)

    @property
    def told(self) -> str:
        """The message, where the report is, and what moved since the last release."""
        report = f"report: {self.report}" if self.report else None
        return "\n".join(line for line in (self.message, report, self.since) if line)

    @property
    def record(self) -> dict[str, Any]:
        """The run for another program, as `--json` prints it."""
        told = {"exit_code": self.exit_code, "stopped": self.stopped, "seconds": self.seconds, "only": list(self.only)}
        stages = {name: _recorded(outcome) for name, outcome in self.stages.items()}
        cells = {name: _recorded(outcome) for name, outcome in self.cells.items()}
        pages = {"report": self.report, "since": self.since, "comparison": self.comparison}
        return {**told, "stages": stages, "cells": cells, **pages}

    def _counts(self) -> str:
        kinds = [outcome.kind for outcome in self.stages.values()]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


class Unfinished(Exception):
    """What a run that failed or was stopped gives who asks Prefect for its result; `record` is that of any run."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.record = result.record


def up_to_date(only: Sequence[str]) -> str:
    """What to say where nothing is to do, and of which part of the benchmark it is said."""
    return f"nothing to do: {' '.join(only) or 'everything'} is up to date"


def _recorded(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.kind, "seconds": outcome.seconds, "log": outcome.log, "cause": outcome.cause}


def _failure(name: str, bad: Outcome) -> str:
    """One line: what the stage said itself, if it did, and where to read on."""
    if bad.log and bad.cause:
        return f"failed: {name}: {bad.cause} (log: {bad.log})"
    return f"failed: {name}, see {bad.log or bad.cause}"


def write_result(root: Path, result: Result) -> None:
    """Keep the result for whoever asks later."""
    write_json(root / OUTCOMES, asdict(result))


def read_result(root: Path) -> Result | None:
    """The result of the last run, or None if it left none that can be read."""
    try:
        return _result(read_json(root / OUTCOMES))
    except (UserError, OSError, KeyError, TypeError, AttributeError):
        return None


def _result(saved: dict[str, Any]) -> Result:
    stages, cells = (
        {name: Outcome(**outcome) for name, outcome in saved.pop(key).items()} for key in ("stages", "cells")
    )
    return Result(stages=stages, cells=cells, only=tuple(saved.pop("only")), **saved)


_WORST_FIRST = (FAILED, BLOCKED, STOPPED, RAN, RESTORED, SKIPPED)


def conclude(root: Path, plan: Plan, settled: Mapping[str, Outcome], seconds: float, stopped: str | None) -> Result:
    """Put the outcomes together; `stopped` says how, if it was. An old report is not shown as this run's."""
    stages = {stage.name: settled.get(stage.name, Outcome(STOPPED)) for stage in plan.todo}
    good = all(outcome.good for outcome in stages.values())
    current = not stopped and (REPORT not in stages or stages[REPORT].good)
    return Result(
        stages=stages,
        cells=worst_by_cell(stages, cells_of(root)),
        only=plan.only,
        seconds=round(seconds, 3),
        report=report_of(root) if current else None,
        exit_code=exit_code_of_stop(stopped) if stopped else 0 if good else EXIT_FAILED,
        stopped=stopped,
    )


def worst_by_cell(stages: Mapping[str, Outcome], cells: Mapping[str, str]) -> dict[str, Outcome]:
    """The worst outcome of each cell's own stages, with the seconds of all of them and the log of that one.

    What cells share, such as the data, is in none of them.
    """
    own: dict[str, list[Outcome]] = {}
    for name, outcome in stages.items():
        if cell := cells.get(name.partition("@")[2]):
            own.setdefault(cell, []).append(outcome)
    return {cell: _worst(outcomes) for cell, outcomes in own.items()}


def _worst(outcomes: list[Outcome]) -> Outcome:
    worst = min(outcomes, key=lambda outcome: _WORST_FIRST.index(outcome.kind))
    return replace(worst, seconds=round(sum(outcome.seconds for outcome in outcomes), 3))


@dataclass(frozen=True)
class Forecast:
    """What a run would do now. A stage that only follows another may turn out unchanged, and is skipped then."""

    plan: Plan
    exit_code: int = 0

    @property
    def told(self) -> str:
        """The stages in an order in which they can run, each with its reason, and how many of which kind."""
        if not self.plan.todo:
            return up_to_date(self.plan.only)
        width = max(len(stage.name) for stage in self.plan.todo)
        return "\n".join([*(f"{stage.name:{width}}  {stage.why}" for stage in self.plan.todo), "", self._counts()])

    @property
    def record(self) -> dict[str, Any]:
        """The same for a program."""
        stages = {stage.name: {"why": stage.why} for stage in self.plan.todo}
        return {
            "dry_run": True,
            "exit_code": self.exit_code,
            "only": list(self.plan.only),
            "stages": stages,
            "up_to_date": len(self.plan.stages) - len(stages),
        }

    def _counts(self) -> str:
        stages, todo = len(self.plan.stages), len(self.plan.todo)
        kinds = Counter(stage.name.partition("@")[0] for stage in self.plan.todo)
        would = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        chosen = "chosen " if self.plan.only else ""
        return f"would run {todo} of {stages} {chosen}stages: {would}; up to date: {stages - todo}"


def forecast(root: Path, only: Sequence[str] = (), wait: bool = False) -> Forecast:
    """Plan and stop there. While another flow is at work DVC cannot tell what is stale, so it must have ended."""
    require_pipeline(root)
    require_idle(root, wait)
    return Forecast(read_plan(root, only))


EXIT_USER_ERROR = 2
STOPPED_EARLY = "stopped before anything was done"


class Answer(Protocol):
    """A `Result` or a `Forecast`."""

    @property
    def exit_code(self) -> int:
        """How the command ends."""

    @property
    def told(self) -> str:
        """For a person."""

    @property
    def record(self) -> dict[str, Any]:
        """For a program."""


def answer(ask: Callable[[], Answer], as_json: bool) -> int:
    """Print what `ask` gives; the exit code."""
    if as_json:
        return _as_json(ask)
    given = ask()
    print(given.told)
    return given.exit_code


def exit_code_of(error: UserError) -> int:
    """2, the request's fault, unless the error says otherwise."""
    return int(getattr(error, "exit_code", EXIT_USER_ERROR))


def _as_json(ask: Callable[[], Answer]) -> int:
    """A refusal is an object too, so that whoever reads stdout always finds one."""
    try:
        with redirect_stdout(sys.stderr):
            given = ask()
            print(given.told)
        record = given.record
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        record = {"exit_code": exit_code_of(error), "error": str(error)}
    except KeyboardInterrupt:
        record = {"exit_code": EXIT_STOPPED, "error": STOPPED_EARLY}
    print(json.dumps(record, indent=2))
    return int(record["exit_code"])
