"""Collect the claims of a suite: each with its record (`verdict.json`), or with the reason why there is none."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ebmbench.report.results.cells import NOT_RUN, read_json_or_empty
from ebmbench.report.results.staleness import Present, Versions, explain_staleness, recorded_versions
from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.layout import claim_folder

FAILED = "failed"
STALE = "stale"


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its record; if that is empty, `state` and `reason` say why."""

    name: str
    folder: Path
    record: dict[str, Any]
    state: str = NOT_RUN
    reason: str = ""
    versions: list[Versions] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The claim in one line."""
        return str(self.record.get("title") or self.name)

    @property
    def source(self) -> str:
        """The paper that makes the claim."""
        return str(self.record.get("source") or "")

    @property
    def links(self) -> list[str]:
        """Where the paper can be read; records before 0.9 do not say."""
        return list(self.record.get("links", []))

    @property
    def verdict(self) -> str:
        """reproduced, not reproduced, undecided; or failed, stale, not run."""
        return str(self.record.get("verdict") or self.state)

    @property
    def first(self) -> str:
        """The verdict by the first set of seeds."""
        return str(self.record.get("verdict_first") or "")

    @property
    def again(self) -> str:
        """The verdict by the second set of seeds; empty if there was none."""
        return str(self.record.get("verdict_again") or "")

    @property
    def criteria(self) -> list[dict[str, Any]]:
        """Criteria with their findings, in the claim's order."""
        return list(self.record.get("criteria", []))

    @property
    def deciding(self) -> dict[str, Any] | None:
        """The criterion that decided the claim: the first one with the claim's own verdict."""
        return next((one for one in self.criteria if criterion_verdict(one) == self.verdict), None)


def criterion_verdict(criterion: dict[str, Any]) -> str:
    """The verdict on a criterion; undecided if the two sets of seeds disagree."""
    first, again = criterion["finding"]["verdict"], (criterion["again"] or {}).get("verdict")
    return str(first) if again in (None, first) else "undecided"


def collect_claims(root: Path, params: dict[str, Any]) -> list[ClaimResult]:
    """The claims of the suite, in its order."""
    present = Present(root, params)
    return [_collect_claim(present, str(name)) for name in params["benchmark"]["claims"]]


def _collect_claim(present: Present, name: str) -> ClaimResult:
    """One claim; a verdict that was reached with other parameters or code than the present ones does not count."""
    folder = claim_folder(present.root, present.suite, name)
    stage = f"claim@{name}"
    record, failure = read_json_or_empty(folder / "verdict.json"), failure_of(present.root, present.suite, stage)
    if not record or (failure and present.record(stage) is None):
        return ClaimResult(name, folder, {}, FAILED if failure else NOT_RUN, failure)
    if stale := explain_staleness(present, [stage]):
        return ClaimResult(name, folder, {}, STALE, "; ".join(filter(None, [stale, failure])))
    return ClaimResult(name, folder, record, versions=recorded_versions(present, [stage]))
