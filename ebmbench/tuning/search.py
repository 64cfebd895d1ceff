"""The search of one method: the same two rounds for every method.

Round 1: `trials` different settings with the first seed. The first is where the search starts, the others of the
first half are drawn at random, those of the second by a tree-structured Parzen estimator (Bergstra et al. 2011) from
what the earlier ones gave; where it insists on what was tried, at random again.
Round 2: the `finalists` best are run with all seeds, and the best of them wins. A trial's value is the mean
over datasets of the log of the criterion's mean over seeds (a plain mean: one seed that fails must not be hidden by two
that do not); a run without a number makes it +∞. Seeded by the method's name alone.
"""

import random
from collections.abc import Callable

import optuna
from optuna.trial import Trial, TrialState

from ebmbench.tuning.space import Grid, Plan, Point
from ebmbench.tuning.trials import Row, Trials
from ebmbench.workspace.store import digest

PATIENCE = 100  # draws that hit a setting already tried, before an untried one is taken at random


def search(plan: Plan, method: str, tell: Callable[[Row], None]) -> list[Row]:
    """All rows of a method; `tell` hears of each as it is finished."""
    grid, trials = plan.grid(method), Trials(plan, method)
    first: dict[Point, Row] = {}
    study = _study(plan, grid)
    for number in range(min(plan.space.trials, grid.size)):
        trial, point = _untried(study, grid, set(first))
        first[point] = trials.run(grid, point, number, plan.space.seeds[:1])
        study.tell(trial, first[point].value)
        tell(first[point])
    return [*first.values(), *_finals(plan, trials, grid, first, tell)]


def _finals(plan: Plan, trials: Trials, grid: Grid, first: dict[Point, Row], tell: Callable[[Row], None]) -> list[Row]:
    """The best of the first round with all seeds; those that gave no number cannot be among them."""
    ranked = sorted((point for point in first if first[point].ended_well), key=lambda point: first[point].rank)
    rows = []
    for point in sorted(ranked[: plan.space.finalists], key=lambda point: first[point].trial):
        rows.append(trials.run(grid, point, first[point].trial, plan.space.seeds, last=True))
        tell(rows[-1])
    return rows


def steps(plan: Plan, method: str) -> int:
    """How many rows a search will have, at most."""
    first = min(plan.space.trials, plan.grid(method).size)
    return first + min(plan.space.finalists, first)


def _study(plan: Plan, grid: Grid) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = int(digest({"search": grid.method}), 16) % 2**32
    sampler = optuna.samplers.TPESampler(n_startup_trials=max(1, plan.space.trials // 2), seed=seed)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(dict(zip(grid.axes, grid.start, strict=True)))
    return study


def _untried(study: optuna.Study, grid: Grid, tried: set[Point]) -> tuple[Trial, Point]:
    """Draw until a setting is new: every method gets the same number of different ones."""
    for _ in range(PATIENCE):
        trial, point = _ask(study, grid)
        if point not in tried:
            return trial, point
        study.tell(trial, state=TrialState.FAIL)  # not counted, and nothing is learned from it
    rest = [point for point in grid.points() if point not in tried]
    chosen = random.Random(f"{grid.method} {len(tried)}").choice(rest)
    study.enqueue_trial(dict(zip(grid.axes, chosen, strict=True)))
    return _ask(study, grid)


def _ask(study: optuna.Study, grid: Grid) -> tuple[Trial, Point]:
    trial = study.ask()
    return trial, tuple(trial.suggest_int(key, 0, len(choices) - 1) for key, choices in grid.axes.items())
