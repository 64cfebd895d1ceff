"""Methods crossed with training samplers: which of the two the differences between runs come from.

A two-way analysis of variance of one number per run, the logarithm of a loss. With SS the squares that a least-squares
fit leaves over,

    share of a factor = (SS without it − SS with it)/SS of the mean,   share of neither = SS with both/SS of the mean,

where both factors are fitted as a sum of effects. Where every cell has as many runs, the order in which the factors are
added does not matter; where runs failed, a factor's share is the mean of both orders, so that the shares always
sum to one. Neither holds what only a pair of method and sampler explains, and the difference between seeds.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import short_name, variants
from ebmbench.report.results.kinds import mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import lost_cell, row_names, rows_of
from ebmbench.report.statistics.seeds import Summary, summarise

SWEPT = re.compile(r"(?:^|, | )sampler=(\w+)")
FEWEST = 2  # methods that sweep the sampler
Keys = tuple[str, str]  # objective and sampler


@dataclass(frozen=True)
class Shares:
    """Shares of the variation of the runs of a dataset; `seeds` is the part of `neither` inside the cells."""

    sampler: float
    objective: float
    neither: float
    seeds: float

    @property
    def largest(self) -> str:
        """The name of the factor with the largest share, or `neither`."""
        return max(("neither", "sampler", "objective"), key=lambda name: float(getattr(self, name)))


@dataclass(frozen=True)
class Crossing:
    """The rows of every pair of objective and sampler on a dataset, in its main metric.

    An objective is a method with its other swept settings, `cd persistent=True`.
    """

    dataset: str
    metric: str
    objectives: list[str]
    samplers: list[str]
    cells: dict[Keys, pd.DataFrame]
    frame: pd.DataFrame  # the rows of the cells and of the baselines

    def summary(self, objective: str, sampler: str) -> Summary | None:
        """Of a pair's runs; None if there are none."""
        rows = self.cells.get((objective, sampler))
        return None if rows is None or lost_cell(rows) else summarise(rows, self.metric)

    @property
    def summaries(self) -> dict[Keys, Summary]:
        """Of all pairs that have runs."""
        found = {pair: self.summary(*pair) for pair in self.cells}
        return {pair: one for pair, one in found.items() if one is not None}

    @property
    def logarithmic(self) -> bool:
        """Whether smaller is better and all values are positive: a likelihood has no logarithm."""
        found = self.summaries.values()
        values = [value for one in found for value in one.values.values() if math.isfinite(value)]
        return bool(values) and min(values) > 0 and {one.direction for one in found} <= {"lower", ""}

    @property
    def quantity(self) -> str:
        """What varies: `log KL`."""
        return "log " * self.logarithmic + short_name(self.metric)

    @property
    def values(self) -> dict[Keys, list[float]]:
        """The number of each run that has one, by pair."""
        scale = math.log if self.logarithmic else float
        return {
            pair: [scale(value) for value in one.values.values() if math.isfinite(value)]
            for pair, one in self.summaries.items()
        }

    @property
    def failed(self) -> int:
        """Runs without a finite value."""
        return sum(one.runs for one in self.summaries.values()) - sum(map(len, self.values.values()))


def find_crossings(results: Results) -> list[Crossing]:
    """The crossing of each dataset; none unless two methods or more sweep the training sampler."""
    parts = {}
    for dataset in results.datasets:
        images = dataset in results.image_datasets
        parts[dataset] = variants(mask_other_kinds(results.frame, "short") if images else results.toys, dataset)
    pairs = {name: _split(name) for name in row_names(parts.values()) if SWEPT.search(name)}
    if len({name.split(" ")[0] for name in pairs}) < FEWEST:
        return []
    return [_cross(dataset, results.main_metric_of(dataset), part, pairs) for dataset, part in parts.items()]


def explain_variation(values: Mapping[Keys, Sequence[float]]) -> Shares | None:
    """The shares, from the numbers of the runs by pair; None if nothing varies or a factor has one value only."""
    runs = [(objective, sampler, value) for (objective, sampler), own in values.items() for value in own]
    if min(len({run[place] for run in runs}) for place in (0, 1)) < 2:
        return None
    objectives, samplers = (_indicators([run[place] for run in runs]) for place in (0, 1))
    y = np.array([run[2] for run in runs])
    mean, both = np.ones((len(y), 1)), np.hstack([objectives, samplers])
    total, by_objective, by_sampler, left = (_left_over(y, design) for design in (mean, objectives, samplers, both))
    if total <= 1e-12 * max(1.0, float(y @ y)):
        return None
    inside = _left_over(y, _indicators([run[:2] for run in runs]))
    found = [
        ((total - by_sampler) + (by_objective - left)) / 2,
        ((total - by_objective) + (by_sampler - left)) / 2,
    ]
    return Shares(*(one / total for one in (*found, left, inside)))


def _split(name: str) -> Keys:
    """Objective and sampler of `cd persistent=True, sampler=mala`."""
    found = SWEPT.search(name)
    assert found is not None
    method, _, rest = (name[: found.start()] + name[found.end() :]).partition(" ")
    rest = rest.removeprefix(", ").strip()
    return f"{method.rstrip(',')} {rest}".strip(), found[1]


def _cross(dataset: str, metric: str, part: Mapping[str, pd.DataFrame], pairs: Mapping[str, Keys]) -> Crossing:
    found = {pair: rows for name, pair in pairs.items() if (rows := rows_of(part, name)) is not None}
    objectives, samplers = (list(dict.fromkeys(pair[place] for pair in pairs.values())) for place in (0, 1))
    kept = [rows for name, rows in part.items() if name in pairs or is_baseline(name)]
    return Crossing(dataset, metric, objectives, samplers, found, pd.concat(kept) if kept else pd.DataFrame())


def _indicators(levels: Sequence[object]) -> np.ndarray:
    """A column of zeros and ones for each different level, `(runs, levels)`."""
    different = list(dict.fromkeys(levels))
    return np.array([[float(level == one) for one in different] for level in levels])


def _left_over(y: np.ndarray, design: np.ndarray) -> float:
    """The squares that a least-squares fit leaves."""
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.square(y - fitted).sum())
