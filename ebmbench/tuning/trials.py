"""Trials: how one is run, and `trials.csv`, with a row for each round that a trial was in.

A trial's value is the mean over datasets of the log of the criterion's mean over seeds (a plain mean: one seed that
fails must not be hidden by two that do not); a run without a number makes it +∞.

Runs and judgements are found again in `work/` if they are there. The table has no seconds and no dates: a search that
is repeated writes the same bytes.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ebmbench.config.registry import load
from ebmbench.config.schema import check
from ebmbench.core.method import Settings
from ebmbench.experiment.runs import train_run
from ebmbench.training.job import Job
from ebmbench.tuning.examiner import Examiner, Judged
from ebmbench.tuning.grid import Setting
from ebmbench.tuning.space import Plan
from ebmbench.workspace.files import write_csv
from ebmbench.workspace.layout import DEFAULTS, WORK
from ebmbench.workspace.store import Store

TABLE = "trials.csv"
FIRST = ["method", "trial", "round", "proposal", "criterion", "settings"]
LAST = ["value", "seeds", "status", "reason", "passes"]


class TrialError(Exception):
    """Something broke inside a trial; says which method and settings."""


@dataclass(frozen=True)
class Row:
    """A trial in a round. `proposal` says how its setting was chosen (start, random, tpe or walk); `scores` are means
    over the seeds, by dataset; `value` is the mean of their logs.
    """

    method: str
    trial: int
    round: int
    proposal: str
    criterion: str
    settings: str
    scores: dict[str, float | None]
    value: float
    seeds: str
    status: str
    reason: str
    passes: int

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the best first, of equals the earlier."""
        return self.value, self.trial

    @property
    def ended_well(self) -> bool:
        """Whether every run gave a number."""
        return math.isfinite(self.value)


class Trials:
    """Runs the trials of one method."""

    def __init__(self, plan: Plan, method: str) -> None:
        self.plan = plan
        self.method = method
        self.grid = plan.grid(method)
        self.criterion = plan.criterion(method)
        self.store = Store(plan.root / WORK)
        self.examiners = {name: Examiner(plan, name, self.criterion, self.store) for name in plan.space.datasets}

    def run(self, setting: Setting, number: int, proposal: str) -> Row:
        """Round 1: the first seed, with the budget of the space."""
        return self._run(setting, number, proposal, last=False)

    def repeat(self, first: Row) -> Row:
        """The last round of a trial: all seeds, with the whole budget."""
        return self._run(self.grid.read(first.settings), first.trial, first.proposal, last=True)

    def _run(self, setting: Setting, number: int, proposal: str, last: bool) -> Row:
        """Run a setting on every dataset, and sum it up."""
        space, text = self.plan.space, self.grid.text(setting)
        seeds = space.seeds if last else space.seeds[:1]
        passes = self.plan.defaults.training.budget if last else space.budget
        try:
            settings = self.grid.settings(setting)
            runs = {(name, seed): self.judge(settings, name, seed, passes) for name in self.examiners for seed in seeds}
        except Exception as error:
            place = f"{self.method}, trial {number} ({text})"
            raise TrialError(f"{place}: {type(error).__name__}: {' '.join(str(error).split())}") from error
        status, reason = _outcome(runs)
        scores = {name: _mean([runs[name, seed].value for seed in seeds]) for name in self.examiners}
        return Row(
            method=self.method,
            trial=number,
            round=2 if last else 1,
            proposal=proposal,
            criterion=self.criterion,
            settings=text,
            scores=scores,
            value=_mean_log(list(scores.values())),
            seeds=" ".join(map(str, seeds)),
            status=status,
            reason=reason,
            passes=passes,
        )

    def judge(self, settings: Settings, dataset: str, seed: int, passes: int) -> Judged:
        """Train and judge one run, or find both."""
        examiner, section = self.examiners[dataset], self.plan.defaults.models.get(settings.model, {})
        model = check(load("models", settings.model).Settings, section, DEFAULTS, f"models.{settings.model}")
        training = self.plan.defaults.training.model_copy(update={"budget": passes})
        job = Job(self.method, settings, {}, seed, training, model, examiner.data.facts)
        return examiner.judge(train_run(job, examiner.data.train, self.store, examiner.data.train_labels))


def _outcome(runs: dict[tuple[str, int], Judged]) -> tuple[str, str]:
    """Status and reason of the first run that gave no number, and how many more there are."""
    bad = {place: run for place, run in runs.items() if run.value is None}
    if not bad:
        return "ok", ""
    (dataset, seed), run = next(iter(bad.items()))
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    return run.status, f"{dataset} seed={seed}: {run.reason}{more}"


def _mean_log(values: list[float | None]) -> float:
    """The log of the geometric mean; +∞ if a value is missing."""
    return fmean(math.inf if value is None else math.log(value) for value in values)


def _mean(values: list[float | None]) -> float | None:
    """The plain mean; none if a value is missing."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def winner(rows: list[Row]) -> Row | None:
    """The best of the last round of a method's rows; None if no finalist ended well."""
    return min((row for row in rows if row.round == 2 and row.ended_well), key=lambda row: row.rank, default=None)


def of_method(rows: list[Row], method: str, number: int | None = None) -> list[Row]:
    """The rows of a method, of one round or of both."""
    return [row for row in rows if row.method == method and number in (None, row.round)]


def merge_rows(old: list[Row], new: list[Row], order: list[str]) -> list[Row]:
    """New rows in place of the old ones of the same methods; methods in this order, others after them."""
    tuned = {row.method for row in new}
    rows = [row for row in old if row.method not in tuned] + new
    places = {method: place for place, method in enumerate(order)}
    return sorted(rows, key=lambda row: (places.get(row.method, len(places)), row.method, row.round, row.trial))


def write_table(path: Path, rows: list[Row]) -> None:
    """Floats are written so that they read back the same."""
    datasets = list(dict.fromkeys(name for row in rows for name in row.scores))
    write_csv(path, [*FIRST, *datasets, *LAST], ({**vars(row), **row.scores} for row in rows))


def read_table(path: Path) -> list[Row]:
    """The rows of a table; none if there is no table yet."""
    if not path.is_file():
        return []
    return [_row(cells) for cells in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]


def _row(cells: dict[str, str]) -> Row:
    datasets = [name for name in cells if name not in [*FIRST, *LAST]]
    numbers: dict[str, Any] = {name: int(cells[name]) for name in ("trial", "round", "passes")}
    scores = {name: float(cells[name]) if cells[name] else None for name in datasets}
    # A table that was written before proposals were recorded has no such column.
    rest = {name: cells.get(name, "") for name in [*FIRST, *LAST] if name not in numbers}
    return Row(**{**rest, **numbers, "scores": scores, "value": float(cells["value"])})
