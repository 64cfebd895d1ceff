"""How each number moved from one report to another.

The unit is the seed, as in the report: over the seeds that both sides have, a number moved if the 95 % t interval of
its paired differences (of logarithms, where all values are positive) leaves out zero. What moved towards the metric's
direction is better, against it worse. A value that only one side has, or one seed alone, is never called either.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from ebmbench.report.frame import variant
from ebmbench.report.groups import COSTS
from ebmbench.report.numbers import ROUNDING
from ebmbench.report.statistics import LEVEL, Summary, half_width, paired, summarise

SAME = 1e-9  # relative: what is smaller is the arithmetic's noise, as is what is absolutely below `ROUNDING`

Key = tuple[str, str, str, str]  # dataset, method with settings, metric, kind of samples


class Change(StrEnum):
    """What became of a number."""

    EQUAL = "equal"
    WITHIN = "within its interval"
    BETTER = "better"
    WORSE = "worse"
    MOVED = "moved"
    ALONE = "one seed"
    APART = "no common seed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True)
class Move:
    """One number on both sides."""

    key: Key
    before: Summary | None
    after: Summary | None
    change: Change


def moves(before: pd.DataFrame, after: pd.DataFrame) -> list[Move]:
    """Every number that either side has, in the order of the later report."""
    old, new = dict(summaries(before)), dict(summaries(after))
    old = {_renamed(key, new): one for key, one in old.items()}
    keys = [*new, *(key for key in old if key not in new)]
    return [Move(key, old.get(key), new.get(key), change(old.get(key), new.get(key))) for key in keys]


def _renamed(key: Key, new: Collection[Key]) -> Key:
    """Reports before 0.3.0 do not name the kind of samples: a number of the same name is the same, if there is one."""
    *place, samples = key
    alike = [one for one in new if list(one[:3]) == place]
    return alike[0] if not samples and len(alike) == 1 else key


def summaries(frame: pd.DataFrame) -> Iterator[tuple[Key, Summary]]:
    """The summary of every number: only metrics of quality, and only those with a value."""
    known = frame[frame["value"].notna() & (frame["status"] == "ok") & ~frame["metric"].isin(COSTS)]
    for (dataset, method, settings, metric, samples), rows in known.groupby(
        ["dataset", "method", "settings", "metric", "samples"], sort=False
    ):
        one = summarise(rows, str(metric))
        yield (str(dataset), variant(str(method), str(settings)), str(metric), str(samples)), one


def change(before: Summary | None, after: Summary | None) -> Change:
    """The word for what became of a number."""
    if before is None or after is None:
        return Change.GONE if after is None else Change.NEW
    common = before.values.keys() & after.values.keys()
    if not common:
        return Change.APART
    if all(_same(before.values[seed], after.values[seed]) for seed in common):
        return Change.EQUAL
    differences = paired(after, before)
    half = half_width(differences.tolist())
    if half is None:
        return Change.ALONE
    mean = float(np.mean(differences))
    if abs(mean) <= half:
        return Change.WITHIN
    if after.direction not in ("lower", "higher"):
        return Change.MOVED
    return Change.BETTER if (mean < 0) == (after.direction == "lower") else Change.WORSE


def by_chance(found: list[Move]) -> float:
    """How many numbers that changed at all would leave their interval by chance alone."""
    tested = (Change.WITHIN, Change.BETTER, Change.WORSE, Change.MOVED)
    return (1 - LEVEL) * sum(move.change in tested for move in found)


def _same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= max(SAME * max(abs(one), abs(other)), ROUNDING)
