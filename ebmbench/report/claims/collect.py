"""What is known of each claim of a suite: its account, or why there is none."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ebmbench.report.results.cells import read_json
from ebmbench.report.results.staleness import Present, Versions, recorded_versions, staleness
from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.layout import claim_folder

NOT_RUN = "not run"
FAILED = "failed"
STALE = "stale"


@dataclass(frozen=True)
class Tested:
    """A claim with its account (`verdict.json`); without one that holds, `state` and `reason` tell why."""

    name: str
    folder: Path
    account: dict[str, Any]
    state: str = NOT_RUN
    reason: str = ""
    seconds: float | None = None
    versions: list[Versions] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The claim in a line; its account alone knows it."""
        return str(self.account.get("title") or self.name)

    @property
    def source(self) -> str:
        """Where it is claimed."""
        return str(self.account.get("source") or "")

    @property
    def verdict(self) -> str:
        """reproduced, not reproduced, undecided; or failed, stale, not run."""
        return str(self.account.get("verdict") or self.state)

    @property
    def first(self) -> str:
        """The verdict by the first set of seeds."""
        return str(self.account.get("verdict_first") or "")

    @property
    def again(self) -> str:
        """The verdict by other seeds; empty where nobody tried."""
        return str(self.account.get("verdict_again") or "")

    @property
    def criteria(self) -> list[dict[str, Any]]:
        """Criteria with their findings, in the claim's order."""
        return list(self.account.get("criteria", []))

    @property
    def deciding(self) -> dict[str, Any] | None:
        """The criterion that made the verdict: the first that came out as the claim did."""
        return next((one for one in self.criteria if outcome(one) == self.verdict), None)


def outcome(criterion: dict[str, Any]) -> str:
    """The verdict on a criterion: that of both sets of seeds, if they agree."""
    first, again = criterion["finding"]["verdict"], (criterion["again"] or {}).get("verdict")
    return str(first) if again in (None, first) else "undecided"


def collect_claims(root: Path, params: dict[str, Any]) -> list[Tested]:
    """The claims of the suite in its order."""
    present = Present(root, params)
    return [_tested(present, str(name)) for name in params["benchmark"]["claims"]]


def _tested(present: Present, name: str) -> Tested:
    """The claim as it stands: a verdict of other parameters or code than those of now is none."""
    folder = claim_folder(present.root, present.suite, name)
    stage = f"claim@{name}"
    account, failure = read_json(folder / "verdict.json"), failure_of(present.root, stage)
    if not account or (failure and present.record(stage) is None):
        return Tested(name, folder, {}, FAILED if failure else NOT_RUN, failure)
    if stale := staleness(present, [stage]):
        return Tested(name, folder, {}, STALE, "; ".join(filter(None, [stale, failure])))
    seconds = read_json(folder / "cost.json").get("seconds")
    return Tested(name, folder, account, seconds=seconds, versions=recorded_versions(present, [stage]))
