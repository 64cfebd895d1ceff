"""The end of a run: one outcome for every stage that was to do, and for every cell the worst of its stages'."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pipelines.cells import cells_of
from pipelines.outcome import (
    BLOCKED,
    EXIT_FAILED,
    FAILED,
    RAN,
    RESTORED,
    SKIPPED,
    STOPPED,
    Outcome,
    Result,
)
from pipelines.plan import Plan
from pipelines.stopping import exit_code_of_stop
from pipelines.workspace import REPORT, report_of

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
