"""What became of the stages: an outcome each, and the run's result, kept in `work/flow/outcomes.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ebmbench.core.errors import UserError
from ebmbench.core.files import read_json, write_json
from pipelines.workspace import OUTCOMES

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
