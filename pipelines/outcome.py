"""What a run did, or would do: the outcome of every stage, the result of the run, and how both are printed.

`Outcome` is how one stage ended. `Result` is a whole run and is saved in `work/flow/outcomes.json`. `Forecast` is what
`--dry-run` answers. `print_outcome` prints a result or a forecast as text, or with `--json` as one object on stdout.
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
from ebmbench.workspace.layout import DRAFT, LATEST, OUTCOMES, REPORT, report_of, require_pipeline
from ebmbench.workspace.locks import require_idle
from pipelines.execution.signals import EXIT_STOPPED, stop_exit_code
from pipelines.execution.warm import open_warm_dvc
from pipelines.planning.plan import Plan, read_plan
from pipelines.planning.selection import suite_cells

RAN, RESTORED, SKIPPED = "ran", "restored", "skipped"
FAILED, BLOCKED, STOPPED = "failed", "blocked", "stopped"
GOOD = frozenset({RAN, RESTORED, SKIPPED})
_WORST_FIRST = (FAILED, BLOCKED, STOPPED, RAN, RESTORED, SKIPPED)

EXIT_FAILED = 1
_LINES = 20  # about cells, at the end of a run
STOPPED_EARLY = "stopped before anything was done"


@dataclass(frozen=True)
class Outcome:
    """How one stage ended: `kind` is one of the six words above, `cause` says why it failed or did not run."""

    kind: str
    seconds: float = 0.0
    log: str | None = None
    cause: str | None = None

    @property
    def good(self) -> bool:
        """Whether the stage's outputs are now up to date."""
        return self.kind in GOOD

    @property
    def record(self) -> dict[str, Any]:
        """The outcome as `--json` prints it and as a row of Prefect's tables."""
        return {"outcome": self.kind, "seconds": self.seconds, "log": self.log, "cause": self.cause}


@dataclass(frozen=True)
class Result:
    """A run of the benchmark as a whole.

    `cells` has the worst outcome of each `dataset/method`, with the seconds of all its stages. `stopped` says how the
    run was stopped, if it was. `standings` says where the cells that ran stand in the report. `since` is one line about
    what changed since the last release, `comparison` the page.
    """

    stages: Mapping[str, Outcome] = field(default_factory=dict)
    cells: Mapping[str, Outcome] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    seconds: float = 0.0
    report: str | None = None
    exit_code: int = 0
    stopped: str | None = None
    standings: tuple[Mapping[str, Any], ...] = ()
    since: str | None = None
    comparison: str | None = None

    @property
    def failed(self) -> dict[str, Outcome]:
        """The stages that failed themselves, without those they blocked."""
        return {name: outcome for name, outcome in self.stages.items() if outcome.kind == FAILED}

    @property
    def message(self) -> str:
        """How the run ended: the number of stages of each kind, and one line for each failure."""
        if self.stopped:
            return f"{self.stopped}; run again to go on"
        if not self.stages:
            return up_to_date_message(self.only)
        counts = Counter(outcome.kind for outcome in self.stages.values())
        lines = [f"{', '.join(f'{number} {kind}' for kind, number in counts.items())} in {self.seconds:.0f} s"]
        lines += [_describe_failure(name, outcome) for name, outcome in self.failed.items()]
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """The message, the cells' numbers, the path of the report, and what changed since the last release."""
        return "\n".join(filter(None, (self.message, *self.standing_lines, self._report_line(), self.since)))

    def _report_line(self) -> str | None:
        """Where the report is; a draft says that it did not replace the latest one."""
        if not self.report:
            return None
        folder = Path(self.report).parent
        if folder.name != DRAFT:
            return f"report: {self.report}"
        return f"report: {self.report} (partial or edited: {folder.with_name(LATEST).as_posix()} stays as it was)"

    @property
    def standing_lines(self) -> list[str]:
        """A line for each cell that ran; of a large suite the first ones."""
        more = len(self.standings) - _LINES
        return [str(one["line"]) for one in self.standings[:_LINES]] + [f"and {more} more"] * (more > 0)

    @property
    def record(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        return {
            "exit_code": self.exit_code,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "only": list(self.only),
            "stages": {name: outcome.record for name, outcome in self.stages.items()},
            "cells": {name: outcome.record for name, outcome in self.cells.items()},
            "standings": [dict(one) for one in self.standings],
            "report": self.report,
            "since": self.since,
            "comparison": self.comparison,
        }


class Unfinished(Exception):
    """The error of a flow run that failed or was stopped; `record` is that of its result."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.record = result.record


def up_to_date_message(only: Sequence[str]) -> str:
    """The message when nothing is stale in the selected part of the benchmark."""
    return f"nothing to do: {' '.join(only) or 'everything'} is up to date"


def _describe_failure(name: str, outcome: Outcome) -> str:
    """One line with the stage's own error message, if it printed one, and its log."""
    if outcome.log and outcome.cause:
        return f"failed: {name}: {outcome.cause} (log: {outcome.log})"
    return f"failed: {name}, see {outcome.log or outcome.cause}"


def write_result(root: Path, result: Result) -> None:
    """Save the result of the run."""
    write_json(root / OUTCOMES, asdict(result))


def read_result(root: Path) -> Result | None:
    """Read the result of the last run; None if there is none, or none that can be read."""
    try:
        saved = read_json(root / OUTCOMES)
        for key in ("stages", "cells"):
            saved[key] = {name: Outcome(**outcome) for name, outcome in saved[key].items()}
        return Result(**{**saved, **{key: tuple(saved[key]) for key in ("only", "standings")}})
    except (UserError, OSError, KeyError, TypeError, AttributeError):
        return None


def conclude(root: Path, plan: Plan, outcomes: Mapping[str, Outcome], seconds: float, stopped: str | None) -> Result:
    """Make the result of a run. A stage without an outcome was stopped. A report that was not renewed is left out."""
    stages = {stage.name: outcomes.get(stage.name, Outcome(STOPPED)) for stage in plan.todo}
    good = all(outcome.good for outcome in stages.values())
    current = not stopped and plan.has_report and (REPORT not in stages or stages[REPORT].good)
    return Result(
        stages=stages,
        cells=worst_by_cell(stages, suite_cells(root)),
        only=plan.only,
        seconds=round(seconds, 3),
        report=report_of(root) if current else None,
        exit_code=stop_exit_code(stopped) if stopped else 0 if good else EXIT_FAILED,
        stopped=stopped,
    )


def worst_by_cell(stages: Mapping[str, Outcome], cells: Mapping[str, str]) -> dict[str, Outcome]:
    """The worst outcome of each cell's own stages, with the seconds of all of them.

    Stages that cells share, such as the data's, belong to no cell.
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
    """What a run would do now. A stage that only follows another may turn out unchanged and is skipped then."""

    plan: Plan
    exit_code: int = 0

    @property
    def text(self) -> str:
        """The stages in an order in which they can run, each with its reason, and the number of each kind."""
        if not self.plan.todo:
            return up_to_date_message(self.plan.only)
        width = max(len(stage.name) for stage in self.plan.todo)
        return "\n".join([*(f"{stage.name:{width}}  {stage.why}" for stage in self.plan.todo), "", self._counts()])

    @property
    def record(self) -> dict[str, Any]:
        """The forecast as `--json` prints it."""
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


def forecast(
    root: Path,
    only: Sequence[str] = (),
    wait: bool = False,
    check: Callable[[], None] = lambda: None,
    report: bool = True,
) -> Forecast:
    """Plan a run without running it. No other run may be active: DVC could not tell what is stale.

    `check` is called while DVC is loading.
    """
    require_pipeline(root)
    require_idle(root, wait)
    with open_warm_dvc(root) as warm:
        check()
        return Forecast(read_plan(root, only, warm.call, report))


class Printable(Protocol):
    """A `Result` or a `Forecast`."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""

    @property
    def text(self) -> str:
        """For a person."""

    @property
    def record(self) -> dict[str, Any]:
        """For a program."""


def print_outcome(make: Callable[[], Printable], as_json: bool) -> int:
    """Print what `make` returns, and return the exit code."""
    if as_json:
        return _print_json(make)
    outcome = make()
    print(outcome.text)
    return outcome.exit_code


def _print_json(make: Callable[[], Printable]) -> int:
    """Print exactly one object on stdout, for an error too; all else goes to stderr."""
    try:
        with redirect_stdout(sys.stderr):
            outcome = make()
            print(outcome.text)
        record = outcome.record
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        record = {"exit_code": error.exit_code, "error": str(error)}
    except KeyboardInterrupt:
        record = {"exit_code": EXIT_STOPPED, "error": STOPPED_EARLY}
    print(json.dumps(record, indent=2))
    return int(record["exit_code"])
