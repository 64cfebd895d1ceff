"""Do the intervals of ranks hold the truth as often as the report says? Simulated, with methods of known quality."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ebmbench.report.statistics.ranks import Array, improvement, mean_ranks, ties

TRIALS, MANY = 300, 20_000
SEEDS, TASKS, METHODS = (3, 4, 5, 10), (1, 2, 4), (2, 8)
# How far apart methods are in units of the noise; the last of `rare` diverges now and then, `erratic` ones vary more.
SITUATIONS = ("equal", "near", "apart", "far", "erratic", "rare")
STEPS = {"equal": 0.0, "near": 0.5, "apart": 1.5, "far": 4.0, "erratic": 0.7, "rare": 1.0}


def protocol() -> str:
    """The page that explains the intervals, without its line breaks."""
    return " ".join((Path(__file__).parents[2] / "docs/protocol.md").read_text(encoding="utf-8").split())


def losses(generator: np.random.Generator, situation: str, shape: tuple[int, int, int, int]) -> Array:
    """`(trials, tasks, seeds, methods)`."""
    methods = shape[-1]
    spread = np.linspace(3, 0.3, methods) if situation == "erratic" else np.ones(methods)
    values = STEPS[situation] * np.arange(methods) + spread * generator.normal(size=shape)
    diverged = (generator.random(shape) < 0.15) & (np.arange(methods) == 0) & (situation == "rare")
    return np.where(diverged, np.inf, values)


def truths(situation: str, methods: int) -> tuple[Array, Array]:
    """The mean ranks and probabilities of improvement of very many runs; tasks are alike."""
    runs = losses(np.random.default_rng(1), situation, (MANY, 1, 1, methods))[:, 0, 0]
    others = losses(np.random.default_rng(2), situation, (MANY, 1, 1, methods))[:, 0, 0]
    return stats.rankdata(runs, axis=-1).mean(axis=0), (runs[:, :, None] < others[:, None, :]).mean(axis=0)


def trials(situation: str, tasks: int, seeds: int, methods: int) -> Iterator[Array]:
    yield from losses(np.random.default_rng(3), situation, (TRIALS, tasks, seeds, methods))


@pytest.fixture(scope="module")
def simulated() -> dict[str, list[float]]:
    """The share of intervals that hold the truth in each situation."""
    found: dict[str, list[float]] = {"rank": [], "improvement": []}
    for situation, tasks, seeds, methods in product(SITUATIONS, TASKS, SEEDS, METHODS):
        rank, better = truths(situation, methods)
        pairs = np.triu_indices(methods, 1)
        hits: dict[str, list[float]] = {name: [] for name in found}
        for one in trials(situation, tasks, seeds, methods):
            for name, estimate, truth in (("rank", mean_ranks(one), rank), ("improvement", improvement(one), better)):
                held = np.abs(estimate.mean - truth) <= estimate.half
                hits[name].append(float(np.mean(held if name == "rank" else held[pairs])))
        for name, shares in hits.items():
            found[name].append(float(np.mean(shares)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rank", "improvement"])
def test_intervals_hold_the_truth_as_often_as_the_report_says(simulated: dict[str, list[float]], name: str) -> None:
    assert np.mean(simulated[name]) > 0.95
    assert np.min(simulated[name]) > 0.85
    assert (
        "in no situation in less than 85 % of cases, averaged over methods, and in more than 95 % on average"
        in protocol()
    )


def test_a_divergence_too_rare_for_the_seeds_is_in_no_interval() -> None:
    """One method is always the first of eight unless it diverges, one time in eight: two of three trials miss that."""
    generator, truth = np.random.default_rng(5), 1 + 7 / 8
    runs = np.broadcast_to(np.arange(8.0), (TRIALS, 1, 3, 8)).copy()
    runs[generator.random((TRIALS, 1, 3)) < 1 / 8, 0] = np.inf
    held = [bool(np.abs(mean_ranks(one).mean - truth)[0] <= mean_ranks(one).half[0]) for one in runs]
    assert np.mean(held) == pytest.approx(1 - (7 / 8) ** 3, abs=0.1)
    assert "a divergence too rare to be met by these seeds is in no interval" in protocol()


def percent_apart(situation: str, trials: int, tasks: int, seeds: int, methods: int) -> float:
    """In how many percent of tables a method is told apart that has the best mean rank like others."""
    values = np.random.default_rng(6).normal(size=(trials, tasks, seeds, methods))
    best = np.arange(methods) < (2 if situation == "two best" else methods)
    values = np.where(best, values, values + 50)
    if situation == "erratic":
        values *= np.geomspace(0.1, 1, methods)
    return 100 * float(np.mean([not ties(one)[best].all() for one in values]))


@pytest.mark.parametrize(("tasks", "seeds", "methods"), [(1, 5, 2), (3, 3, 7), (2, 3, 24)])
def test_of_equal_methods_all_tie_in_nineteen_tables_of_twenty(tasks: int, seeds: int, methods: int) -> None:
    # Three standard errors of 400 trials; by paired t intervals some one is told apart in 36 % for seven methods.
    assert percent_apart("equal", 400, tasks, seeds, methods) <= 5 + 3.3


@pytest.mark.slow
@pytest.mark.parametrize("situation", ["equal", "two best", "erratic"])
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("tasks", [1, 3])
def test_ties_keep_their_level_in_every_situation(situation: str, seeds: int, tasks: int) -> None:
    found = {methods: percent_apart(situation, 1000, tasks, seeds, methods) for methods in (2, 3, 7, 12, 24)}
    print(f"{situation}, {tasks} × {seeds}:", found)
    assert all(share <= (6 if methods <= 7 or situation != "erratic" else 10) + 2 for methods, share in found.items())
    assert "of equal methods some one leaves in about 5 % of tables" in protocol()


@pytest.mark.slow
@pytest.mark.parametrize(("situation", "least", "most"), [("equal", 0.65, 0.85), ("far", 0.0, 0.1)])
def test_a_bootstrap_over_three_seeds_is_too_narrow(situation: str, least: float, most: float) -> None:
    """Why the interval is not that of the paper."""
    generator, held = np.random.default_rng(4), []
    truth, _ = truths(situation, 4)
    for one in trials(situation, 1, 3, 4):
        ranks = stats.rankdata(one[0], axis=-1)
        means = ranks[generator.integers(3, size=(1000, 3))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975], axis=0)
        held.append(np.mean((low <= truth) & (high >= truth)))
    assert least <= np.mean(held) < most
