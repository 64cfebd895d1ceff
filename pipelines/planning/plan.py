"""The plan of a run: the stages that changed and all that follow from them, in an order in which they can run.

The graph is `dvc dag --dot`, the changes are `dvc status --json`, so DVC decides what is stale. A stage that only
follows a changed one may turn out unchanged: DVC then skips it when its turn comes.
"""

import csv
import json
import re
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from ebmbench.errors import UserError
from ebmbench.workspace.layout import REPORT, current_report, suite_of
from pipelines.execution.dvc import Call, call_dvc, run_dvc
from pipelines.planning.lockfile import describe_mismatch, mismatched_inputs, read_entries
from pipelines.planning.reasons import explain_changes
from pipelines.planning.resources import read_gpu_requests
from pipelines.planning.selection import check_names, select_stages

_NODE = re.compile(r'^"(?P<stage>[^"]+)";$')
_EDGE = re.compile(r'^"(?P<upstream>[^"]+)" -> "(?P<stage>[^"]+)";$')


@dataclass(frozen=True)
class Stage:
    """One stage of `dvc.yaml`. `why` says why it is stale, None if it is up to date.

    `gpus` is the number of GPUs that its cell asks for. With `force` it runs even if DVC takes it for up to date.
    """

    name: str
    upstreams: tuple[str, ...]
    why: str | None = None
    gpus: int = 0
    force: bool = False


@dataclass(frozen=True)
class Plan:
    """All selected stages, each after its upstreams. `only` are the patterns of the user's selection."""

    stages: tuple[Stage, ...]
    only: tuple[str, ...] = ()

    @property
    def has_report(self) -> bool:
        """Whether the report is brought up to date too."""
        return any(stage.name == REPORT for stage in self.stages)

    @property
    def todo(self) -> tuple[Stage, ...]:
        """The stale stages, each with only those upstreams that are stale too."""
        stale = {stage.name for stage in self.stages if stage.why is not None}
        return tuple(
            replace(stage, upstreams=tuple(name for name in stage.upstreams if name in stale))
            for stage in self.stages
            if stage.name in stale
        )


def read_plan(root: Path, only: Sequence[str] = (), call: Call = call_dvc, report: bool = True) -> Plan:
    """Ask DVC what depends on what and what changed; without `report` that stage is left out."""
    check_names(root)
    with ThreadPoolExecutor(max_workers=2) as pool:
        graph = pool.submit(run_dvc, root, "dag", "--dot", call=call)
        changes = pool.submit(run_dvc, root, "status", "--json", call=call)
        locked = read_entries(root)
    upstreams, status = parse_dot(graph.result()), json.loads(changes.result())
    if only:
        upstreams = select_stages(root, upstreams, only)
    if not report:
        upstreams.pop(REPORT, None)  # nothing needs it
    changed, forced = explain_changes(root, status, locked), _find_mismatches(root, locked, status)
    if not only and REPORT in upstreams and (reason := _outdated_rows(root)):
        forced[REPORT] = reason
    plan, gpus = make_plan(upstreams, forced | changed), read_gpu_requests(root)
    stages = (replace(stage, gpus=gpus.get(stage.name, 0), force=stage.name in forced) for stage in plan.stages)
    return Plan(tuple(stages), tuple(only))


def _find_mismatches(root: Path, locked: dict[str, Any], status: Container[str]) -> dict[str, str]:
    """Stages that DVC takes for up to date although they used other inputs than `dvc.lock` names."""
    found = {name: mismatched_inputs(root, entry) for name, entry in locked.items() if name not in status}
    return {name: describe_mismatch(inputs) for name, inputs in found.items() if inputs}


def _outdated_rows(root: Path) -> str:
    """Whether the report shows cells without numbers. DVC would not write it again after these have succeeded."""
    for name in ("results.csv", "verdicts.csv"):
        page = current_report(root, suite_of(root)) / name
        lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
        words = {str(row.get(key)) for row in csv.DictReader(lines) for key in ("status", "verdict")}
        if found := sorted(words & {"failed", "stale", "not run"}):
            return f"shows cells as {' or '.join(found)}"
    return ""


def parse_dot(text: str) -> dict[str, list[str]]:
    """Every stage with its upstreams, both in DVC's order."""
    upstreams: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        if node := _NODE.match(line):
            upstreams.setdefault(node["stage"], [])
        elif edge := _EDGE.match(line):
            upstreams.setdefault(edge["upstream"], [])
            upstreams.setdefault(edge["stage"], []).append(edge["upstream"])
    return upstreams


def make_plan(upstreams: dict[str, list[str]], changed: dict[str, str]) -> Plan:
    """Pass staleness down the graph."""
    try:
        order = list(TopologicalSorter(upstreams).static_order())
    except CycleError as error:
        raise UserError(f"dvc.yaml: the stages depend on each other in a circle: {error.args[1]}") from None
    stages: dict[str, Stage] = {}
    for name in order:
        why = changed.get(name) or _follows(stages[up] for up in upstreams[name])
        stages[name] = Stage(name, tuple(upstreams[name]), why)
    return Plan(tuple(stages.values()))


def _follows(upstreams: Iterable[Stage]) -> str | None:
    stale = [stage.name for stage in upstreams if stage.why is not None]
    more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
    return f"follows {stale[0]}{more}" if stale else None
