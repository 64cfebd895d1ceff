"""How each number moved from one report to another.

The unit is the seed, as in the report: over the seeds that both sides have, a number moved if the 95 % t interval of
its paired differences (of logarithms, where all values are positive) leaves out zero. What moved towards the metric's
direction is better, against it worse. A value that only one side has, or one seed alone, is never called either.

Which runs ended otherwise than before: by their verdicts where both sides give them, else by their status.

A method whose runs all diverged has no number that could get worse, so this is told beside the numbers.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd

from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import COSTS
from ebmbench.report.sections.verdicts import verdict, words_of
from ebmbench.report.statistics.seeds import LEVEL, Summary, half_width, paired, summarise
from ebmbench.report.text.numbers import ROUNDING

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


Place = tuple[str, str]  # dataset, method with settings


class Ending(NamedTuple):
    """How the runs of one method on one dataset ended, and which of those that both sides have ended otherwise."""

    dataset: str
    method: str
    before: str
    after: str
    runs: str


def endings(before: pd.DataFrame, after: pd.DataFrame) -> list[Ending]:
    """All that changed, in the order of the later report; a method that only one side has is no change."""
    judged = all(map(has_verdicts, (before, after)))
    old, new = (_groups(frame, judged) for frame in (before, after))
    both = {place: (old[place], rows) for place, rows in new.items() if place in old}
    found = [Ending(*place, verdict(one), verdict(other), _changed(one, other)) for place, (one, other) in both.items()]
    return [one for one in found if one.runs or one.before != one.after]


def has_verdicts(frame: pd.DataFrame) -> bool:
    """Reports before 0.4.0 judge no run."""
    return "verdict" in frame.columns and bool((frame["verdict"].fillna("") != "").any())


def _groups(frame: pd.DataFrame, judged: bool) -> dict[Place, pd.DataFrame]:
    """The rows of every method; without verdicts, `verdict` counts by status."""
    frame = frame.assign(verdict=frame["verdict"].fillna("") if judged else "")
    groups = frame.groupby(["dataset", "method", "settings"], sort=False)
    return {(str(d), variant(str(m), str(s))): rows for (d, m, s), rows in groups}


def _changed(before: pd.DataFrame, after: pd.DataFrame) -> str:
    """`seed 0: ok → diverged`, for each run that both sides have; a cell that failed has no runs."""
    old, new = _words(before), _words(after)
    seeds = [seed for seed in new if seed in old and old[seed] != new[seed]]
    return ", ".join(f"seed {seed}: {old[seed]} → {new[seed]}" for seed in seeds)


def _words(rows: pd.DataFrame) -> dict[int, str]:
    known = rows[rows["seed"].notna()].drop_duplicates("label")
    return {int(seed): str(word) for seed, word in zip(known["seed"], words_of(known), strict=True)}
