"""What is published: the defaults are the winners, the trials are equal in number, the seeds are nobody's."""

from pathlib import Path

import pytest

from ebmbench.config.schema import read_yaml
from ebmbench.tuning.run import equals_defaults
from ebmbench.tuning.space import load_plan, suite_seeds
from ebmbench.tuning.trials import FOLDER, of_method, read_table, winner

ROOT = Path(__file__).parents[2]
PLAN = load_plan(ROOT)
ROWS = read_table(ROOT / FOLDER / "trials.csv")

published = pytest.mark.skipif(not ROWS, reason="the search has not been published")


def test_every_method_that_is_compared_has_a_search() -> None:
    assert set(PLAN.space.methods) == set(read_yaml(ROOT / "suites" / "defaults.yaml")["benchmark"]["methods"])


def test_no_development_seed_is_in_a_suite() -> None:
    assert not set(PLAN.space.seeds) & set(suite_seeds(ROOT))


@published
@pytest.mark.parametrize("method", list(PLAN.space.methods))
def test_the_defaults_are_the_winner(method: str) -> None:
    best = winner(of_method(ROWS, method))
    assert best is not None
    assert equals_defaults(PLAN.defaults, best)


@published
@pytest.mark.parametrize("method", list(PLAN.space.methods))
def test_every_method_had_the_same_number_of_different_trials(method: str) -> None:
    rows = of_method(ROWS, method, 1)
    wanted = min(PLAN.space.trials, PLAN.grid(method).size)
    assert len(rows) == len({row.settings for row in rows}) == wanted
    assert len(of_method(ROWS, method, 2)) == min(PLAN.space.finalists, wanted)
    assert {row.seeds for row in rows} == {str(PLAN.space.seeds[0])}
    assert {row.passes for row in rows} == {PLAN.space.budget}


@published
def test_no_reported_seed_was_looked_at() -> None:
    used = {int(seed) for row in ROWS for seed in row.seeds.split()}
    assert not used & set(suite_seeds(ROOT))
