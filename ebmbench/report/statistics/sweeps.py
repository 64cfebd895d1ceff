"""Sweeps: one method trained with several values of a setting, and whether a metric rises or falls with it.

Every setting of every method can be swept (a list in `params.yaml`). Numbers found elsewhere (`PUBLISHED` in the
method's file) stand beside a sweep of the same setting; data, network and budget differ, so that only the tendency can
be compared. It is computed, as Spearman's rank correlation over the runs, and not read off a curve.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

from ebmbench.config import registry
from ebmbench.report.results.groups import RATIO, TRIO, short_name
from ebmbench.report.results.kinds import kinds, mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.numbers import format_number

KEYS = re.compile(r"(?:^|, )(\w[\w.]*)=")
IMAGE_METRICS = ("fid", RATIO, "inception_score")
LEVEL = 0.05


@dataclass(frozen=True)
class Sweep:
    """The rows of a method by value of its setting, on one dataset; of images, of one kind of samples.

    Of several settings that are swept together the value is their whole text, `a=1, b=2`.
    """

    method: str
    setting: str
    dataset: str
    kind: str
    main: str
    metrics: tuple[str, ...]
    runs: dict[str, pd.DataFrame]

    @property
    def published(self) -> dict[str, Any]:
        """What the method's file says was published of this setting, in a metric of this sweep; else empty."""
        entry = registry.entries("methods").get(self.method)
        known = entry.published if entry is not None else {}
        applies = known.get("setting") == self.setting and set(known["values"]) & set(self.metrics)
        return known if applies else {}

    def pairs(self, metric: str) -> list[tuple[str, float]]:
        """Value of the setting and of the metric for each run."""
        return [(value, one) for value, rows in self.runs.items() for one in summarise(rows, metric).values.values()]


def find_sweeps(results: Results) -> dict[tuple[str, str], list[Sweep]]:
    """All sweeps of a suite, by method and setting."""
    found: dict[tuple[str, str], list[Sweep]] = {}
    for one in _sweeps(results):
        found.setdefault((one.method, one.setting), []).append(one)
    return found


def numbers_of(values: Sequence[str]) -> list[float] | None:
    """The values of a setting as numbers; None if one of them is no number."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def describe_tendency(setting: str, metric: str, pairs: Sequence[tuple[str, float]], unit: str) -> str:
    """Whether the metric rises with the setting, by Spearman's correlation and its p-value; empty without numbers."""
    settings, values = numbers_of([value for value, _ in pairs]), [value for _, value in pairs]
    if settings is None:
        return ""
    name = short_name(metric)
    if len(values) < 3 or len(set(values)) < 2 or len(set(settings)) < 2:
        return f"too few {unit} ({len(values)}) to tell whether {name} rises with `{setting}`."
    correlation, p = (float(one) for one in stats.spearmanr(settings, values))
    verb = "rises" if correlation > 0 else "falls"
    verdict = f"{name} {verb} with `{setting}`" if p < LEVEL else f"no clear tendency of {name} with `{setting}`"
    p_text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{verdict} (Spearman's ρ = {format_number(correlation, 2)} over {len(values)} {unit}, {p_text})."


def _sweeps(results: Results) -> Iterator[Sweep]:
    for method in results.methods:
        for dataset in results.datasets:
            image = dataset in results.image_datasets
            main = RATIO if image else results.main_metric
            frame = results.frame if image else results.toys
            rows = frame[(frame["dataset"] == dataset) & (frame["method"] == method) & (frame["settings"] != "")]
            named = [metric for metric in TRIO if metric in set(rows["metric"])]
            metrics = IMAGE_METRICS if image else tuple(dict.fromkeys([main, *named]))
            for kind in kinds(rows, dataset) if image else [""]:
                runs = _valued_runs(mask_other_kinds(rows, kind) if kind else rows, metrics)
                keys = {tuple(KEYS.findall(settings)) for settings in runs}
                if len(runs) > 1 and len(keys) == 1:
                    names = keys.pop()
                    yield Sweep(method, ", ".join(names), dataset, kind, main, metrics, _by_value(runs, len(names)))


def _valued_runs(rows: pd.DataFrame, metrics: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The rows of each setting that has a value in any of the metrics."""
    found = {str(settings): part for settings, part in rows.groupby("settings", sort=False)}
    return {key: part for key, part in found.items() if (part["metric"].isin(metrics) & part["value"].notna()).any()}


def _by_value(runs: dict[str, pd.DataFrame], settings: int) -> dict[str, pd.DataFrame]:
    """Numbers in ascending order, all other values as they come."""
    found = {key.partition("=")[2] if settings == 1 else key: part for key, part in runs.items()}
    return dict(sorted(found.items(), key=lambda pair: float(pair[0]))) if numbers_of(list(found)) else found
