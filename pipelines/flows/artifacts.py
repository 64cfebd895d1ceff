"""The artifacts of a run in Prefect: its progress, tables of its stages and cells, the report and the comparison.

Prefect keeps no files, so the first figures of a page are put into its text, and the others are named.

Artifacts are optional: if Prefect's server no longer answers, the stages go on and nothing more is sent. Progress is
sent from a thread of its own, because Prefect retries for a while before it gives up.
"""

import mimetypes
import re
import sys
from base64 import b64encode
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

from pipelines.display import ReadProgress
from pipelines.outcome import Outcome, Result
from pipelines.planning.plan import Plan, Stage

REFRESH_SECONDS = 5.0
_LONGEST_REPORT = 200_000  # bytes; Prefect keeps artifacts in its database
_LONGEST_FIGURES = 300_000  # bytes, of all figures of a page
_FIGURE = re.compile(r"!\[(.*?)\]\(([^)]*)\)")


class Artifacts:
    """The artifacts of one flow run; `read` gives the progress of a running stage."""

    def __init__(self, plan: Plan, read: ReadProgress) -> None:
        self.plan, self.read = plan, read
        self.running: dict[str, None] = {}  # in the order in which they started
        self.ended = 0
        self.lost = False
        self.progress: UUID | None = None
        self._send(self._start)

    def count(self, stage: Stage, outcome: Outcome | None) -> None:
        """Count a start (no outcome yet) or an end, without sending it, so that the queue does not wait."""
        if outcome is None:
            self.running[stage.name] = None
        else:
            self.running.pop(stage.name, None)
            self.ended += 1

    def refresh(self) -> None:
        """Send the progress of the run."""
        artifact, total = self.progress, len(self.plan.todo)
        if artifact is None:
            return
        progress = {name: self.read(name) for name in tuple(self.running)}
        percent = 100.0 * (self.ended + sum(stage.fraction for stage in progress.values() if stage)) / total
        lines = [f"{self.ended} of {total} stages have ended"]
        lines += [f"- {name} {stage.describe() if stage else ''}".rstrip() for name, stage in progress.items()]
        self._send(lambda: update_progress_artifact(artifact, min(percent, 100.0), "\n".join(lines)))

    def publish(self, root: Path, result: Result) -> None:
        """Send the final progress, the tables, and the pages that this run wrote."""
        self.refresh()
        stages = [
            {"stage": stage.name, **result.stages[stage.name].record, "why": stage.why} for stage in self.plan.todo
        ]
        cells = [_cell_row(cell, outcome) for cell, outcome in result.cells.items()]
        numbers = "\n".join([result.message, "", *(f"- {line}" for line in result.standing_lines)]).strip()
        self._table(stages, "benchmark-stages", result.message)
        self._table(cells, "benchmark-cells", numbers)
        self._page(root, result.report, "benchmark-report", numbers)
        self._page(root, result.comparison, "benchmark-comparison", result.since)

    def _table(self, rows: list[dict[str, Any]], key: str, description: str) -> None:
        if rows:
            self._send(lambda: create_table_artifact(rows, key=key, description=description))

    def _page(self, root: Path, path: str | None, key: str, description: str | None) -> None:
        """Send a Markdown page of this run, if there is one and it is not too long."""
        if path and (root / path).stat().st_size <= _LONGEST_REPORT:
            text = embed_figures((root / path).read_text(encoding="utf-8"), (root / path).parent)
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


def embed_figures(text: str, folder: Path, longest: int = _LONGEST_FIGURES) -> str:
    """Put the first figures of a page into its text, as many as fit, and replace the others by their captions."""
    room = longest

    def embed(figure: re.Match[str]) -> str:
        nonlocal room
        file = folder / figure[2]
        size = file.stat().st_size if file.is_file() else longest + 1
        if size > room:
            return f"*(figure: {figure[1]})*"
        room -= size
        kind = mimetypes.guess_type(file)[0]
        return f"![{figure[1]}](data:{kind};base64,{b64encode(file.read_bytes()).decode()})"

    return _FIGURE.sub(embed, text)


def _cell_row(cell: str, outcome: Outcome) -> dict[str, Any]:
    dataset, _, method = cell.partition("/")
    return {"dataset": dataset, "method": method, **outcome.record}
