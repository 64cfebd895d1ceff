"""What changed between the results of two reports: numbers, and how runs ended.

Numbers are compared over the seeds that both sides have. A number moved if the 95 % t interval of its paired
differences (of logarithms, where all values are positive) excludes zero. It got better if it moved in the metric's
direction, else worse. A number that only one side has, or that has one seed only, is neither.

A method whose runs all diverged has no number that could get worse, so the ends of the runs are compared too: by
their verdicts if both sides have them, else by their status.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd

from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import COSTS
from ebmbench.report.results.verdicts import describe_verdicts, words_of
from ebmbench.report.statistics.seeds import LEVEL, Summary, half_width, paired_differences, summarise
from ebmbench.report.text.numbers import ROUNDING

SAME = 1e-9  # relative; smaller differences are rounding errors, as are absolute ones below `ROUNDING`

Key = tuple[str, str, str, str]  # dataset, method with settings, metric, kind of samples


class Change(StrEnum):
    """What became of a number."""

    EQUAL = "equal"
    WITHIN = "within its interval"
    BETTER = "better"
    WORSE = "worse"
    MOVED = "moved"
    ONE_SEED = "one seed"
    NO_COMMON_SEED = "no common seed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True)
class NumberChange:
    """One number on both sides."""

    key: Key
    before: Summary | None
    after: Summary | None
    change: Change


def compare_numbers(before: pd.DataFrame, after: pd.DataFrame) -> list[NumberChange]:
    """Compare every number that either side has, in the order of the later report."""
    new = dict(_summarise_numbers(after))
    old = {_match_samples(key, new): summary for key, summary in _summarise_numbers(before)}
    keys = dict.fromkeys([*new, *old])
    return [NumberChange(key, old.get(key), new.get(key), classify(old.get(key), new.get(key))) for key in keys]


def classify(before: Summary | None, after: Summary | None) -> Change:
    """What became of a number."""
    if before is None or after is None:
        return Change.GONE if after is None else Change.NEW
    common = before.values.keys() & after.values.keys()
    if not common:
        return Change.NO_COMMON_SEED
    if all(_is_same(before.values[seed], after.values[seed]) for seed in common):
        return Change.EQUAL
    differences = paired_differences(after, before)
    half = half_width(differences.tolist())
    if half is None:
        return Change.ONE_SEED
    mean = float(np.mean(differences))
    if abs(mean) <= half:
        return Change.WITHIN
    if after.direction not in ("lower", "higher"):
        return Change.MOVED
    return Change.BETTER if (mean < 0) == (after.direction == "lower") else Change.WORSE


def expected_by_chance(numbers: list[NumberChange]) -> float:
    """How many of the numbers that changed would leave their interval by chance alone."""
    tested = (Change.WITHIN, Change.BETTER, Change.WORSE, Change.MOVED)
    return (1 - LEVEL) * sum(number.change in tested for number in numbers)


def _summarise_numbers(frame: pd.DataFrame) -> Iterator[tuple[Key, Summary]]:
    """The summary of every metric of quality that has a value."""
    known = frame[frame["value"].notna() & (frame["status"] == "ok") & ~frame["metric"].isin(COSTS)]
    columns = ["dataset", "method", "settings", "metric", "samples"]
    for names, rows in known.groupby(columns, sort=False):
        dataset, method, settings, metric, samples = map(str, names)
        yield (dataset, variant(method, settings), metric, samples), summarise(rows, metric)


def _match_samples(key: Key, new: Collection[Key]) -> Key:
    """The new key of an old number: reports before 0.3.0 do not name the kind of samples, so one that fits is taken."""
    matches = [other for other in new if other[:3] == key[:3]]
    return matches[0] if not key[3] and len(matches) == 1 else key


def _is_same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= max(SAME * max(abs(one), abs(other)), ROUNDING)


class RunChange(NamedTuple):
    """How the runs of one method on one dataset ended on both sides, and which of the common runs ended differently."""

    dataset: str
    method: str
    before: str
    after: str
    runs: str


def compare_runs(before: pd.DataFrame, after: pd.DataFrame) -> list[RunChange]:
    """The methods on both sides whose runs ended differently, in the order of the later report.

    A cell that is stale or was not run tells of no end.
    """
    use_verdicts = has_verdicts(before) and has_verdicts(after)
    old, new = (_group_runs(frame, use_verdicts) for frame in (before, after))
    changes = [
        RunChange(*place, describe_verdicts(old[place]), describe_verdicts(rows), _changed_runs(old[place], rows))
        for place, rows in new.items()
        if place in old
    ]
    return [change for change in changes if change.runs or change.before != change.after]


def has_verdicts(frame: pd.DataFrame) -> bool:
    """Whether the report judges its runs; reports before 0.4.0 do not."""
    return "verdict" in frame.columns and bool((frame["verdict"].fillna("") != "").any())


def _group_runs(frame: pd.DataFrame, use_verdicts: bool) -> dict[tuple[str, str], pd.DataFrame]:
    """The rows of each dataset and method that ended; where the verdict is empty, the status counts."""
    frame = frame[~frame["status"].isin(["stale", NOT_RUN])]
    frame = frame.assign(verdict=frame["verdict"].fillna("") if use_verdicts else "")
    groups = frame.groupby(["dataset", "method", "settings"], sort=False)
    return {(str(d), variant(str(m), str(s))): rows for (d, m, s), rows in groups}


def _changed_runs(before: pd.DataFrame, after: pd.DataFrame) -> str:
    """`seed 0: ok → diverged` for each common run that ended differently; a cell that failed has no runs."""
    old, new = _words_by_seed(before), _words_by_seed(after)
    seeds = [seed for seed in new if seed in old and old[seed] != new[seed]]
    return ", ".join(f"seed {seed}: {old[seed]} → {new[seed]}" for seed in seeds)


def _words_by_seed(rows: pd.DataFrame) -> dict[int, str]:
    known = rows[rows["seed"].notna()].drop_duplicates("label")
    return {int(seed): str(word) for seed, word in zip(known["seed"], words_of(known), strict=True)}
