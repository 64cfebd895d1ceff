"""Which runs ended otherwise than before: by their verdicts where both sides give them, else by their status.

A method whose runs all diverged has no number that could get worse, so this is told beside the numbers.
"""

from typing import NamedTuple

import pandas as pd

from ebmbench.report.frame import variant
from ebmbench.report.verdicts import verdict, words_of

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
