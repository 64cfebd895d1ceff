"""What a person sees of a run in Prefect: how far it is, a table of the stages, the report itself, and what
moved since the last release.

All of it is a courtesy: when Prefect's server no longer answers, the stages go on and nothing more is sent.
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

from pipelines.outcome import Outcome, Result
from pipelines.plan import Plan, Stage

_LONGEST_REPORT = 200_000  # bytes; Prefect keeps artifacts in its database
_FIGURE = re.compile(r"!\[(.*?)\]\([^)]*\)")


class Artifacts:
    """The artifacts of one flow run."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lost = False
        self.progress: UUID | None = None
        self._send(self._start)

    def move(self, settled: int) -> None:
        """Tell how many stages have settled."""
        if self.progress is not None:
            artifact, percent = self.progress, 100.0 * settled / len(self.plan.todo)
            self._send(lambda: update_progress_artifact(artifact, percent))

    def publish(self, root: Path, result: Result) -> None:
        """The table of all stages that were to do, and the pages that this run wrote."""
        rows = [_row(stage, result.stages[stage.name]) for stage in self.plan.todo]
        self._send(lambda: create_table_artifact(rows, key="benchmark-stages", description=result.message))
        self._page(root, result.report, "benchmark-report", None)
        self._page(root, result.comparison, "benchmark-comparison", result.since)

    def _page(self, root: Path, path: str | None, key: str, description: str | None) -> None:
        """A Markdown page of this run, if there is one and it is not too long."""
        if path and (root / path).stat().st_size <= _LONGEST_REPORT:
            text = without_figures((root / path).read_text(encoding="utf-8"))
            self._send(lambda: create_markdown_artifact(text, key=key, description=description))

    def _start(self) -> None:
        made = create_progress_artifact(0.0, key="benchmark-progress", description="stages that have settled")
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


def _row(stage: Stage, outcome: Outcome) -> dict[str, Any]:
    told = {"outcome": outcome.kind, "seconds": outcome.seconds, "log": outcome.log}
    return {"stage": stage.name, **told, "why": stage.why}
