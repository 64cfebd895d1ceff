"""What is known of each claim of a suite: its account, or why there is none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebmbench.core.sections import CLAIMS_FOLDER
from ebmbench.report.cells import read_json

NOT_RUN = "not run"
FAILED = "failed"


@dataclass(frozen=True)
class Tested:
    """A claim with its account (`verdict.json`); without one, `reason` tells why."""

    name: str
    folder: Path
    account: dict[str, Any]
    reason: str = ""
    seconds: float | None = None

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
        """reproduced, not reproduced, undecided; or failed, not run."""
        return str(self.account.get("verdict") or (FAILED if self.reason else NOT_RUN))

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
    benchmark = params["benchmark"]
    return [_tested(root, str(benchmark["suite"]), str(name)) for name in benchmark["claims"]]


def _tested(root: Path, suite: str, name: str) -> Tested:
    folder = root / "runs" / suite / CLAIMS_FOLDER / name
    account = read_json(folder / "verdict.json")
    failure = {} if account else read_json(root / "work" / "failures" / f"claim_{name}.json")
    seconds = read_json(folder / "cost.json").get("seconds")
    return Tested(name, folder, account, str(failure.get("reason") or ""), seconds)
