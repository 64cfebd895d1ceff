"""Who competes where: the methods that have a value on a dataset, and those of them that are best.

Toys compete by the metric that decides on them, images by the FID ratio of one kind of samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import RATIO, datasets, direction, variants
from ebmbench.report.results.kinds import select_kind, table_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.leaders import find_leaders
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.tables import find_best


@dataclass(frozen=True)
class Field:
    """The methods that have a value on one dataset, and those of them that are best or tie with the best."""

    methods: dict[str, Summary]
    best: set[str]

    @property
    def leaders(self) -> dict[str, Summary]:
        """The best with their values; nobody where every method ties."""
        return {name: one for name, one in self.methods.items() if name in self.best != set(self.methods)}

    @property
    def why_open(self) -> str:
        """Why nobody leads: all tie, one method alone, one seed, or too few whole results."""
        methods = self.methods
        if len(methods) < 2:
            return "nothing was compared" if methods else "there is no value"
        if self.best:
            return "both methods tie" if len(methods) == 2 else f"all {len(methods)} methods tie"
        if max(len(one.values) for one in methods.values()) < 2:
            first = order_by_median(methods)[0]
            return f"one seed cannot tell {len(methods)} methods apart (`{first}` has the best value)"
        return "fewer than two methods have a value of every run"


Fields = dict[str, Field]  # by dataset


def order_by_median(methods: Mapping[str, Summary]) -> list[str]:
    """The names, the best median first."""
    signs = {name: -1 if one.direction == "higher" else 1 for name, one in methods.items()}
    return sorted(methods, key=lambda name: signs[name] * (methods[name].median or 0.0))


def find_fields(results: Results, kind: str) -> dict[str, Fields]:
    """Who has a value where, by metric: toys by the one that decides on them, images of one kind by their FID ratio."""
    if not kind:
        toys = results.toys_by_metric
        return {metric: _fields_by(metric, dict.fromkeys(datasets(rows), rows)) for metric, rows in toys.items()}
    sets = [dataset for dataset in results.image_datasets if kind in table_kinds(results.frame, dataset)]
    return {RATIO: _fields_by(RATIO, {dataset: select_kind(results.frame, dataset, kind) for dataset in sets})}


def _fields_by(metric: str, frames: Mapping[str, pd.DataFrame]) -> Fields:
    found = {dataset: _methods(frame, dataset, metric) for dataset, frame in frames.items()}
    return {name: Field(found[name], find_best(frame, name, metric)) for name, frame in frames.items()}


def _methods(frame: pd.DataFrame, dataset: str, metric: str) -> dict[str, Summary]:
    found = {name: summarise(rows, metric) for name, rows in variants(frame, dataset).items() if not is_baseline(name)}
    return {name: one for name, one in found.items() if one.values}


def flatten(fields: Mapping[str, Fields]) -> list[tuple[str, str, Field]]:
    """Metric, dataset and field, one after the other."""
    return [(metric, dataset, one) for metric, part in fields.items() for dataset, one in part.items()]


def find_first_field(results: Results, dataset: str) -> Field:
    """The field of a dataset at the first moment of each run; only who has a value of every run competes."""
    rows = results.curves[results.curves["dataset"] == dataset]
    names = [variant(*pair) for pair in zip(rows["method"], rows["settings"], strict=True)]
    first = rows.assign(name=names).sort_values("passes", kind="stable").drop_duplicates(["name", "label"])
    runs = {name: part["label"].nunique() for name, part in variants(results.frame, dataset).items()}
    better = direction(results.frame, str(rows["metric"].iloc[0]))
    found = {}
    for name in dict.fromkeys(names):
        part = first[(first["name"] == name) & first["value"].notna()]
        values = {int(seed): float(value) for seed, value in zip(part["seed"], part["value"], strict=True)}
        found[name] = Summary(values, runs.get(name, 0), better)
    found = {name: one for name, one in found.items() if one.values}
    return Field(found, find_leaders(found))
