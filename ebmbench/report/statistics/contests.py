"""Who is ranked against whom: methods that all take part in the same tasks, in the main metric of a kind of data.

Toy datasets with the same main metric are one contest; each kind of samples of images is another, by FID
ratio. A task is a dataset. A mean over tasks compares only methods that took part in all of them, so a method that has
no such value on one (no energy, no samples of this kind, not run) is left out and named with the reason. A run that
diverged, a cell that failed and a single missing value have an infinite loss: they are last, not absent. Losses beyond
the oracle's count as the oracle's.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, datasets, short_name, variants
from ebmbench.report.results.kinds import KINDS, SAMPLES, kinds, mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import row_names, rows_of
from ebmbench.report.statistics.ranks import Array, seed_ranks
from ebmbench.report.statistics.seeds import summarise

Task = dict[str, pd.DataFrame]
NO_VALUE = "no value"
LAST = ("diverged", "failed", NO_VALUE)  # a method whose runs on a task all ended so is the last there


@dataclass(frozen=True)
class Contest:
    """Methods by mean rank; `losses` is `(tasks, seeds, methods)`, and `absent` says why others are left out."""

    metric: str
    kind: str
    datasets: list[str]
    names: list[str]
    losses: Array
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What is ranked: `KL`, `FID ratio of short-run samples`."""
        return short_name(self.metric) + (f" of {SAMPLES[self.kind]}" if self.kind else "")

    @property
    def decided(self) -> bool:
        """Whether there is anything to rank and a second seed to tell it from chance."""
        return len(self.names) > 1 and self.losses.shape[1] > 1


def find_contests(results: Results) -> list[Contest]:
    """All contests of a suite in which some method has a value."""
    frame = results.frame
    found = [
        _contest(metric, "", {dataset: variants(toys, dataset) for dataset in datasets(toys)})
        for metric, toys in results.toys_by_metric.items()
    ]
    for kind in KINDS:
        sets = [dataset for dataset in results.image_datasets if kind in kinds(frame, dataset)]
        found.append(_contest(RATIO, kind, {name: variants(mask_other_kinds(frame, kind), name) for name in sets}))
    return [one for one in found if one.datasets]


def _contest(metric: str, kind: str, tasks: dict[str, Task]) -> Contest:
    tasks = {dataset: task for dataset, task in tasks.items() if _valued(task, metric)}
    names = [name for name in row_names(tasks.values()) if not is_baseline(name)]
    absent = {name: why for name in names if (why := _why_absent(name, metric, kind, tasks))}
    taking = [name for name in names if name not in absent]
    seeds = sorted({seed for task in tasks.values() for name in taking for seed in _seeds(task, name)})
    losses = np.full((len(tasks), len(seeds), len(taking)), np.inf)
    for place, task in enumerate(tasks.values()):
        for column, name in enumerate(taking):
            known = _losses(task, name, metric)
            losses[place, :, column] = [known.get(seed, np.inf) for seed in seeds]
    ahead: list[int] = np.argsort(seed_ranks(losses).mean(axis=0), kind="stable").tolist() if losses.size else []
    return Contest(metric, kind, list(tasks), [taking[one] for one in ahead], losses[:, :, ahead], absent)


def _valued(task: Task, metric: str) -> bool:
    """Whether some method has a value, of a metric that says which values are better."""
    found = (summarise(rows, metric) for name, rows in task.items() if not is_baseline(name))
    return any(one.values and one.direction in ("lower", "higher") for one in found)


def _seeds(task: Task, name: str) -> list[int]:
    rows = rows_of(task, name)
    return [] if rows is None else [int(seed) for seed in rows["seed"].dropna().unique()]


def _losses(task: Task, name: str, metric: str) -> dict[int, float]:
    """The loss of each seed that has a value: smaller is better, so values of a score are negated."""
    rows, truth = rows_of(task, name), task.get("oracle")
    if rows is None:
        return {}
    one = summarise(rows, metric)
    one = one if truth is None else one.no_better_than(summarise(truth, metric))
    return {seed: -value for seed, value in one.values.items()} if one.direction == "higher" else one.values


def _why_absent(name: str, metric: str, kind: str, tasks: dict[str, Task]) -> str:
    """Why a method is left out; empty if it takes part in all tasks."""
    ends = {dataset: find_end(rows_of(task, name), metric, kind) for dataset, task in tasks.items()}
    bad = {dataset: end for dataset, end in ends.items() if end and end not in LAST}
    if bad:
        reason = next(iter(bad.values()))
        return f"{reason} on {_listed([dataset for dataset, end in bad.items() if end == reason])}"
    # Who lost all runs of a contest is last in it, if it is known to belong there: a cell that failed says nothing of
    # its kinds of samples, and neither does a run that diverged.
    known = bool({"", NO_VALUE} & set(ends.values())) or ("diverged" in ends.values() and not kind)
    return "" if known else f"{' and '.join(sorted(set(ends.values())))} on {_listed(list(ends))}"


def find_end(rows: pd.DataFrame | None, metric: str, kind: str) -> str:
    """How a method ended in a task: empty with a value, a member of `LAST`, or why it takes no part."""
    if rows is None:
        return "not run"
    if summarise(rows, metric).values:
        return ""
    ends = set(rows["status"])
    if ends <= {"diverged", "failed"}:
        return min(ends, key=LAST.index)
    # An energy whose mass no grid holds has no KL: that is a loss, and not for want of an energy.
    if (kind and kind in set(rows["samples"])) or (not kind and (rows["verdict"] == "miscalibrated").any()):
        return NO_VALUE
    other = next((end for end in ("not run", "stale", "skipped") if end in ends and "ok" not in ends), "")
    return other or f"no {SAMPLES[kind] if kind else short_name(metric)}"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
