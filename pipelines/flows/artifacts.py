"""What a person sees of a run in Prefect: how far it is, tables of its stages and of its cells, the report itself,
and what moved since the last release.

All of it is a courtesy: when Prefect's server no longer answers, the stages go on and nothing more is sent. While they
run it is sent from a thread of its own, since Prefect tries for a while before it gives a server up.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from pipelines.display import Look
from pipelines.outcome import Outcome, Result
from pipelines.planning.plan import Plan, Stage

REFRESH_SECONDS = 5.0
_LONGEST_REPORT = 200_000  # bytes; Prefect keeps artifacts in its database
_FIGURE = re.compile(r"!\[(.*?)\]\([^)]*\)")


class Artifacts:
    """The artifacts of one flow run; `look` tells how far a running stage is."""

    def __init__(self, plan: Plan, look: Look) -> None:
        self.plan, self.look = plan, look
        self.running: dict[str, None] = {}  # in the order in which they started
        self.settled = 0
        self.lost = False
        self.progress: UUID | None = None
        self._send(self._start)

    def see(self, stage: Stage, outcome: Outcome | None) -> None:
        """Take note of a start (no outcome yet) or an end. Nothing is sent: who calls this has stages to start."""
        if outcome is None:
            self.running[stage.name] = None
        else:
            self.running.pop(stage.name, None)
            self.settled += 1

    def refresh(self) -> None:
        """Tell how far all is."""
        artifact, total = self.progress, len(self.plan.todo)
        if artifact is None:
            return
        pulses = {name: self.look(name) for name in tuple(self.running)}
        percent = 100.0 * (self.settled + sum(pulse.fraction for pulse in pulses.values() if pulse)) / total
        lines = [f"{self.settled} of {total} stages have settled"]
        lines += [f"- {name} {pulse.told() if pulse else ''}".rstrip() for name, pulse in pulses.items()]
        self._send(lambda: update_progress_artifact(artifact, min(percent, 100.0), "\n".join(lines)))

    def publish(self, root: Path, result: Result) -> None:
        """How far it came, tables of all that was to do, and the pages that this run wrote."""
        self.refresh()
        stages = [_stage_row(stage, result.stages[stage.name]) for stage in self.plan.todo]
        cells = [_cell_row(cell, outcome) for cell, outcome in result.cells.items()]
        self._table(stages, "benchmark-stages", result.message)
        self._table(cells, "benchmark-cells", result.message)
        self._page(root, result.report, "benchmark-report", None)
        self._page(root, result.comparison, "benchmark-comparison", result.since)

    def _table(self, rows: list[dict[str, Any]], key: str, description: str) -> None:
        if rows:
            self._send(lambda: create_table_artifact(rows, key=key, description=description))

    def _page(self, root: Path, path: str | None, key: str, description: str | None) -> None:
        """A Markdown page of this run, if there is one and it is not too long."""
        if path and (root / path).stat().st_size <= _LONGEST_REPORT:
            text = without_figures((root / path).read_text(encoding="utf-8"))
            self._send(lambda: create_markdown_artifact(text, key=key, description=description))

    def _start(self) -> None:
        made = create_progress_artifact(0.0, key="benchmark-progress", description="nothing has started")
        assert isinstance(made, UUID)  # a coroutine only where an event loop runs; this flow is synchronous
        self.progress = made

    def _send(self, call: Callable[[], object]) -> None:
        if self.lost:
            return
        try:
            call()
        except httpx.HTTPError as error:
            self.lost = True
            print(f"Prefect's server does not answer ({error}); the run goes on without it", file=sys.stderr)


def without_figures(text: str) -> str:
    """A page with the words of its figures: beside Prefect's copy there are no files, only broken images."""
    return _FIGURE.sub(r"*(figure: \1)*", text)


def _stage_row(stage: Stage, outcome: Outcome) -> dict[str, Any]:
    return {"stage": stage.name, **_told(outcome), "why": stage.why}


def _cell_row(cell: str, outcome: Outcome) -> dict[str, Any]:
    dataset, _, method = cell.partition("/")
    return {"dataset": dataset, "method": method, **_told(outcome)}


def _told(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.kind, "seconds": outcome.seconds, "log": outcome.log, "cause": outcome.cause}
