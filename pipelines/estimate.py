"""About how long a run will still take.

The seconds of a cell's stages are in the `results.csv` of the suite's last report, which is in Git, so they may be of
another machine or of other settings. The stages that have ended in this run correct them: if those took twice as long,
so will the rest. A stage that no report knows is taken for a mean one of its kind. `prepare`, `features` and `report`
count only once one of their kind has ended here, so before that the estimate is a little short.
"""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean

from ebmbench.workspace.layout import report_folder, suite_of

_COLUMNS = {"train": "seconds_train", "sample": "seconds_sample", "evaluate": "seconds_evaluate"}
_SHORT = ("prepare", "features", "report")


def read_costs(root: Path) -> dict[str, float]:
    """The seconds of each stage, by its name, as the suite's last report has them; empty without a report."""
    file = report_folder(root, suite_of(root)) / "results.csv"
    try:
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        return _sum_costs(rows)
    except (OSError, ValueError, KeyError):  # none, or one of an old version
        return {}


def _sum_costs(rows: Iterable[dict[str, str]]) -> dict[str, float]:
    """Every run has many rows with the same seconds."""
    runs = {
        (_stage(kind, row), row["label"]): float(row[column])
        for row in rows
        for kind, column in _COLUMNS.items()
        if row[column]
    }
    costs: dict[str, float] = {}
    for (stage, _), seconds in runs.items():
        costs[stage] = costs.get(stage, 0.0) + seconds
    return costs


def _stage(kind: str, row: dict[str, str]) -> str:
    """Only baselines have no training."""
    return f"{kind}@{row['dataset']}-{row['method']}" if row["seconds_train"] else f"baselines@{row['dataset']}"


class Estimate:
    """How long the stages that have not ended will take; `costs` are seconds of stages, by name."""

    def __init__(self, costs: Mapping[str, float], stages: Iterable[str]) -> None:
        self.costs, self.waiting = costs, dict.fromkeys(stages)
        self.ended: dict[str, float] = {}

    def end(self, stage: str, seconds: float | None) -> None:
        """Count a stage as ended; one that did not run in full has no seconds."""
        self.waiting.pop(stage, None)
        if seconds is not None:
            self.ended[stage] = seconds

    def left(self, running: dict[str, float], ends: dict[str, float]) -> float | None:
        """The seconds until all is done; None if nothing is known of some stage, or nothing is left.

        `running` has the seconds since the start of each running stage, `ends` what some say that they still need.
        """
        rest: list[float] = []
        for stage in self.waiting:
            whole = self._expected(stage)
            if stage in ends:
                rest.append(ends[stage])
            elif whole is None:
                return None
            else:
                rest.append(max(0.0, whole - running.get(stage, 0.0)))
        # As many at a time as now; the longest cannot be shared.
        return max(sum(rest) / max(1, len(running)), *rest) if rest else None

    def _expected(self, stage: str) -> float | None:
        """The seconds of a stage, by the report's costs and by how much longer stages of its kind took here."""
        kind = stage.partition("@")[0]
        alike = {name: seconds for name, seconds in self.ended.items() if name.partition("@")[0] == kind}
        known = [name for name in alike if self.costs.get(name)]
        pace = sum(alike[name] for name in known) / sum(self.costs[name] for name in known) if known else 1.0
        if stage in self.costs:
            return pace * self.costs[stage]
        others = [pace * seconds for name, seconds in self.costs.items() if name.partition("@")[0] == kind]
        if alike or others:
            return mean(alike.values() or others)
        return 0.0 if kind in _SHORT else None
