"""`--dry-run`: which stages a run would bring up to date, and why each is stale. Nothing runs, nothing is written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.lock import no_flow
from pipelines.outcome import up_to_date
from pipelines.plan import Plan, read_plan
from pipelines.workspace import require_pipeline


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
    no_flow(root, wait)
    return Forecast(read_plan(root, only))
