"""The end of a run: one outcome for every stage that was to do, and for every cell the worst of its stages'."""

from collections.abc import Mapping
from pathlib import Path

from pipelines.cells import cells_of
from pipelines.outcome import (
    BLOCKED,
    EXIT_FAILED,
    EXIT_STOPPED,
    FAILED,
    RAN,
    RESTORED,
    SKIPPED,
    STOPPED,
    Outcome,
    Result,
)
from pipelines.plan import Plan
from pipelines.workspace import REPORT, report_of

_WORST_FIRST = (FAILED, BLOCKED, STOPPED, RAN, RESTORED, SKIPPED)


def conclude(root: Path, plan: Plan, settled: Mapping[str, Outcome], seconds: float, stopped: bool) -> Result:
    """Put the outcomes together; an old report is not shown as this run's."""
    stages = {stage.name: settled.get(stage.name, Outcome(STOPPED)) for stage in plan.todo}
    good = all(outcome.good for outcome in stages.values())
    current = not stopped and (REPORT not in stages or stages[REPORT].good)
    return Result(
        stages=stages,
        cells=worst_by_cell(stages, cells_of(root)),
        only=plan.only,
        seconds=round(seconds, 3),
        report=report_of(root) if current else None,
        exit_code=EXIT_STOPPED if stopped else 0 if good else EXIT_FAILED,
    )


def worst_by_cell(stages: Mapping[str, Outcome], cells: Mapping[str, str]) -> dict[str, str]:
    """The worst outcome of each cell's own stages; what cells share, such as the data, is in none of them."""
    worst: dict[str, str] = {}
    for name, outcome in stages.items():
        if cell := cells.get(name.partition("@")[2]):
            worst[cell] = min(outcome.kind, worst.get(cell, outcome.kind), key=_WORST_FIRST.index)
    return worst
