"""What is to do: the stages that changed and all that follow from them, in an order that can be run.

The graph is `dvc dag --dot`, the changes are `dvc status --json`; DVC alone decides what is stale.
A stage that only follows a changed one may turn out unchanged: DVC then skips it when its turn comes.

The plan of a caller that has made one and holds the workspace; a flow started by a schedule does both itself.

Not in `flow.py`: to serve a flow Prefect pickles its function with the globals that it uses, and a context variable
cannot be pickled.
"""

import csv
import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from ebmbench.config.yaml import read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.layout import DVC_LOCK, REPORT, report_folder, suite_of
from pipelines.execution.dvc import ask
from pipelines.planning.lockfile import untrue, why_distrusted
from pipelines.planning.reasons import explain
from pipelines.planning.resources import gpus_by_stage
from pipelines.planning.selection import narrow, require_words

_NODE = re.compile(r'^"(?P<stage>[^"]+)";$')
_EDGE = re.compile(r'^"(?P<upstream>[^"]+)" -> "(?P<stage>[^"]+)";$')


@dataclass(frozen=True)
class Stage:
    """One stage of `dvc.yaml`; `why` is None when it is up to date, `gpus` is what its cell asks for.

    `force` is for a stage that DVC takes for up to date and that is to run all the same.
    """

    name: str
    upstreams: tuple[str, ...]
    why: str | None = None
    gpus: int = 0
    force: bool = False


@dataclass(frozen=True)
class Plan:
    """All stages, every one after its upstreams; with `only` no others than those cells need, and the report."""

    stages: tuple[Stage, ...]
    only: tuple[str, ...] = ()

    @property
    def todo(self) -> tuple[Stage, ...]:
        """The stale stages, each with only those upstreams that are stale too."""
        stale = {stage.name for stage in self.stages if stage.why is not None}
        return tuple(
            replace(stage, upstreams=tuple(name for name in stage.upstreams if name in stale))
            for stage in self.stages
            if stage.name in stale
        )


def read_plan(root: Path, only: Sequence[str] = ()) -> Plan:
    """Ask DVC what depends on what and what changed."""
    require_words(root)
    upstreams = parse_dot(ask(root, "dag", "--dot"))
    if only:
        upstreams = narrow(root, upstreams, only)
    status = json.loads(ask(root, "status", "--json"))
    locked = read_mapping(root / DVC_LOCK).get("stages", {})
    changed, distrusted = explain(root, status, locked), _distrusted(root, locked, status)
    if not only and REPORT in upstreams and (told := _tells_of_old(root)):
        distrusted[REPORT] = told
    plan, gpus = make_plan(upstreams, distrusted | changed), gpus_by_stage(root)
    stages = (replace(stage, gpus=gpus.get(stage.name, 0), force=stage.name in distrusted) for stage in plan.stages)
    return Plan(tuple(stages), tuple(only))


def _distrusted(root: Path, locked: dict[str, Any], status: Container[str]) -> dict[str, str]:
    """Stages that DVC takes for up to date although they have used other inputs than it names."""
    found = {name: untrue(root, entry) for name, entry in locked.items() if name not in status}
    return {name: why_distrusted(names) for name, names in found.items() if names}


def _tells_of_old(root: Path) -> str:
    """Whether the report shows cells as failed or stale: once these are mended, DVC would not write it anew."""
    for name in ("results.csv", "verdicts.csv"):
        page = report_folder(root, suite_of(root)) / name
        lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
        words = {str(row.get(key)) for row in csv.DictReader(lines) for key in ("status", "verdict")}
        if found := sorted(words & {"failed", "stale"}):
            return f"shows what was {' or '.join(found)}"
    return ""


def parse_dot(text: str) -> dict[str, list[str]]:
    """Every stage with its upstreams, both in the order in which DVC names them."""
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
    stages: dict[str, Stage] = {}
    for name in _in_order(upstreams):
        why = changed.get(name) or _follows(stages[up] for up in upstreams[name])
        stages[name] = Stage(name, tuple(upstreams[name]), why)
    return Plan(tuple(stages.values()))


def _in_order(upstreams: dict[str, list[str]]) -> list[str]:
    try:
        return list(TopologicalSorter(upstreams).static_order())
    except CycleError as error:
        raise UserError(f"dvc.yaml: the stages depend on each other in a circle: {error.args[1]}") from None


def _follows(upstreams: Iterable[Stage]) -> str | None:
    stale = [stage.name for stage in upstreams if stage.why is not None]
    more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
    return f"follows {stale[0]}{more}" if stale else None


_PLANNED: ContextVar[Plan | None] = ContextVar("PLANNED", default=None)


def planned() -> Plan | None:
    """The caller's plan, if there is one."""
    return _PLANNED.get()


@contextmanager
def handing_over(plan: Plan) -> Iterator[None]:
    """A flow that is called in the block finds this plan."""
    token = _PLANNED.set(plan)
    try:
        yield
    finally:
        _PLANNED.reset(token)
