"""The search of one method: the same two rounds for every method.

Round 1, with the first seed: the setting where the search starts; settings drawn at random from the grid; settings that
a tree-structured Parzen estimator (Bergstra et al. 2011) proposes from what the earlier ones gave, and at random where
it insists on what was tried; then a walk. A step of the walk takes the best settings so far, as many as there are
finalists, and goes beyond the end of a range at which one of them stands; where none does, beside the best on the grid.
A method walks on, up to `most` trials, until neither a finalist nor the start stands at an end that nothing was tried
beyond. The trials of the others are then made as many (`run.py`).
Round 2: the finalists and the start are run with all seeds and the whole budget, and the best of them wins. A small
budget may favour other settings than a large one: with the start among them, no search ends worse than it began, if the
start gave a number. The winner stands at an end only with the next value tried and lost, or for a reason that is given.
Seeded by the method's name alone.
"""

import random
from collections.abc import Callable, Iterator

import optuna
from optuna.trial import Trial, TrialState

from ebmbench.tuning.grid import Grid, Setting
from ebmbench.tuning.ranges import find_edges, neighbours
from ebmbench.tuning.space import Plan
from ebmbench.tuning.trials import Row, Trials
from ebmbench.workspace.store import digest

PATIENCE = 100  # draws that hit a setting already tried, before an untried one is taken at random

Tell = Callable[[Row], None]


def first_round(plan: Plan, method: str, rows: list[Row], least: int, tell: Tell) -> list[Row]:
    """At least so many trials, of which some may be there already; `tell` hears of each as it is finished."""
    trials, amounts = Trials(plan, method), plan.space.trials
    rows = list(rows) or _draw(plan, trials, tell)
    finalists = plan.space.finalists
    while len(rows) < least or (len(rows) < amounts.most and list(open_ends(trials.grid, rows, finalists))):
        setting = next_step(trials.grid, rows, finalists)
        if setting is None:
            break
        rows.append(trials.run(setting, len(rows), "walk"))
        tell(rows[-1])
    return rows


def last_round(plan: Plan, method: str, rows: list[Row], tell: Tell) -> list[Row]:
    """The finalists once more, and the start; a trial that gave no number cannot be among them."""
    trials, repeated = Trials(plan, method), []
    for row in sorted(last_rows(rows, plan.space.finalists), key=lambda row: row.trial):
        repeated.append(trials.repeat(row))
        tell(repeated[-1])
    return repeated


def best_rows(rows: list[Row], count: int) -> list[Row]:
    """The best of round 1 that ended well, the best first."""
    return sorted((row for row in rows if row.ended_well), key=lambda row: row.rank)[:count]


def last_rows(rows: list[Row], finalists: int) -> list[Row]:
    """Who is in the last round: the finalists, the best first, and the start if it is none of them and ended well."""
    best = best_rows(rows, finalists)
    return best + [row for row in rows if row.trial == 0 and row.ended_well and row not in best]


def open_ends(grid: Grid, rows: list[Row], finalists: int) -> Iterator[Setting]:
    """What lies beyond the ends of ranges where those of the last round stand, and was not tried."""
    tried = {row.settings for row in rows}
    for row in last_rows(rows, finalists):
        for edge in find_edges(grid, grid.read(row.settings)):
            if edge.beyond is not None and grid.text(edge.beyond) not in tried:
                yield edge.beyond


def next_step(grid: Grid, rows: list[Row], finalists: int) -> Setting | None:
    """Where the walk goes: beyond an open end, else to an untried neighbour of the best that has one."""
    tried = {row.settings for row in rows}
    ranked = sorted(rows, key=lambda row: row.rank)
    beside = (near for row in ranked for near in neighbours(grid, grid.read(row.settings)))
    untried = (near for near in beside if grid.text(near) not in tried)
    return next(open_ends(grid, rows, finalists), None) or next(untried, None)


def _draw(plan: Plan, trials: Trials, tell: Tell) -> list[Row]:
    """The trials on the grid: the start, at random, by the estimator; fewer if the grid has fewer."""
    grid, amounts = trials.grid, plan.space.trials
    study = _study(grid, amounts.random)
    proposals = ["start", *["random"] * amounts.random, *["tpe"] * amounts.tpe]
    rows: list[Row] = []
    for number, proposal in enumerate(proposals[: grid.size]):
        trial, setting = _untried(study, grid, {row.settings for row in rows})
        rows.append(trials.run(setting, number, proposal))
        study.tell(trial, rows[-1].value)
        tell(rows[-1])
    return rows


def _study(grid: Grid, at_random: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = int(digest({"search": grid.method}), 16) % 2**32
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(n_startup_trials=1 + at_random, seed=seed))
    study.enqueue_trial(_places(grid, grid.start))
    return study


def _untried(study: optuna.Study, grid: Grid, tried: set[str]) -> tuple[Trial, Setting]:
    """Draw until a setting is new: every method gets the same number of different ones."""
    for _ in range(PATIENCE):
        trial, setting = _ask(study, grid)
        if grid.text(setting) not in tried:
            return trial, setting
        study.tell(trial, state=TrialState.FAIL)  # not counted, and nothing is learned from it
    rest = [setting for setting in grid.all_settings() if grid.text(setting) not in tried]
    study.enqueue_trial(_places(grid, random.Random(f"{grid.method} {len(tried)}").choice(rest)))
    return _ask(study, grid)


def _ask(study: optuna.Study, grid: Grid) -> tuple[Trial, Setting]:
    trial = study.ask()
    return trial, {axis: choices[trial.suggest_int(axis, 0, len(choices) - 1)] for axis, choices in grid.axes.items()}


def _places(grid: Grid, setting: Setting) -> dict[str, int]:
    """The places of a setting's choices: the estimator knows their order, not their values."""
    return {axis: choices.index(setting[axis]) for axis, choices in grid.axes.items()}
