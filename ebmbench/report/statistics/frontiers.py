"""Data at several budgets: datasets of a suite that share their source and differ in the budget of training.

Each budget is an entry of its own, with runs and a schedule of its own. So every point is the end of a run,
never a moment on its way. Of images it is short runs from noise, the kind of samples that every method has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import pandas as pd

from ebmbench.config.sections import Training
from ebmbench.config.yaml import lookup
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.kinds import mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import row_names, rows_of
from ebmbench.report.statistics.contests import LAST, find_end
from ebmbench.report.statistics.fields import Field, find_fields, flatten
from ebmbench.report.statistics.seeds import Summary, summarise

KIND = "short"  # of the samples of images


@dataclass(frozen=True)
class Point:
    """One method at one budget; `absent` says why it takes no part, `flops` and `seconds` are medians of training."""

    summary: Summary
    absent: str
    flops: float
    seconds: float

    @property
    def median(self) -> float:
        """The median over all runs, where one without a value is infinitely bad; NaN if the method takes no part."""
        if self.absent:
            return math.nan
        return -self.summary.loss if self.summary.direction == "higher" else self.summary.loss

    def reaches(self, target: float) -> bool:
        """Whether every run has a value that is as good as the target."""
        values = self.summary.values.values()
        beyond = min(values) < target if self.summary.direction == "higher" else max(values, default=math.inf) > target
        return not self.absent and self.summary.complete and not beyond


@dataclass(frozen=True)
class Frontier:
    """One source of data: its entries by budget, smallest first, who leads there, and every method's points."""

    name: str
    metric: str
    kind: str
    datasets: dict[int, str]
    fields: dict[int, Field]
    points: dict[str, dict[int, Point]]  # by method, by budget


def find_frontiers(results: Results) -> list[Frontier]:
    """The sources that the suite has at two budgets or more, each budget once, in the order of the suite."""
    found: dict[tuple[str, ...], list[str]] = {}
    for dataset in results.datasets:
        entry = lookup(results.params, f"datasets.{dataset}", {})
        if source := entry.get("source"):
            found.setdefault((source, str(entry.get("function")), str(entry.get("train"))), []).append(dataset)
    frontiers = []
    for (source, *_), names in found.items():
        budgets = {_budget(results, name): name for name in names}
        if len(budgets) == len(names) > 1:
            frontiers.append(_frontier(results, PurePosixPath(source).stem, dict(sorted(budgets.items()))))
    return frontiers


def drop_frontiers(results: Results, frontiers: Sequence[Frontier]) -> Results:
    """The results of all other datasets."""
    gone = [dataset for one in frontiers for dataset in one.datasets.values()]
    if not gone:
        return results
    curves = results.curves if results.curves.empty else results.curves[~results.curves["dataset"].isin(gone)]
    return replace(results, frame=results.frame[~results.frame["dataset"].isin(gone)], curves=curves)


def _budget(results: Results, dataset: str) -> int:
    own = lookup(results.params, f"datasets.{dataset}.overrides.training.budget")
    return int(own or lookup(results.params, "training.budget", Training().budget))


def _frontier(results: Results, name: str, budgets: dict[int, str]) -> Frontier:
    first = next(iter(budgets.values()))
    metric, kind = results.main_metric_of(first), KIND if first in results.image_datasets else ""
    frame = mask_other_kinds(results.frame, kind) if kind else results.toys
    parts = {budget: variants(frame, dataset) for budget, dataset in budgets.items()}
    fields = {dataset: field for _, dataset, field in flatten(find_fields(results, kind))}
    points = {
        method: {budget: _point(rows_of(part, method), metric, kind) for budget, part in parts.items()}
        for method in row_names(parts.values())
        if not is_baseline(method)
    }
    own = {budget: fields.get(dataset, Field({}, set())) for budget, dataset in budgets.items()}
    return Frontier(name, metric, kind, budgets, own, points)


def _point(rows: pd.DataFrame | None, metric: str, kind: str) -> Point:
    end = find_end(rows, metric, kind)
    absent = "" if end in LAST else end
    if rows is None:
        return Point(Summary({}, 0, ""), absent, math.nan, math.nan)
    good = rows[rows["status"] == "ok"]
    flops = good.loc[good["metric"] == "flops", "value"].median()
    return Point(
        summarise(rows, metric), absent, float(flops), float(good.drop_duplicates("label")["seconds_train"].median())
    )
