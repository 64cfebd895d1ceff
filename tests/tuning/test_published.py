"""What is published: the defaults are the winners, the trials are equal in number, the seeds are nobody's."""

from pathlib import Path

import pytest

from ebmbench.config.schema import read_yaml
from ebmbench.tuning.ranges import find_edges
from ebmbench.tuning.report import render_report
from ebmbench.tuning.run import equals_defaults
from ebmbench.tuning.searches import read_searches
from ebmbench.tuning.space import PUBLISHED, load_plan, suite_seeds
from ebmbench.tuning.trials import TABLE, of_method, read_table, winner

ROOT = Path(__file__).parents[2]
PLAN = load_plan(ROOT)
ROWS = read_table(ROOT / PUBLISHED / TABLE)

# A table without proposals is of a search by older rules.
published = pytest.mark.skipif(not ROWS or not ROWS[0].proposal, reason="the search has not been published")


def test_every_method_that_is_compared_has_a_search() -> None:
    assert set(PLAN.space.methods) == set(read_yaml(ROOT / "suites" / "defaults.yaml")["benchmark"]["methods"])


def test_nothing_is_tuned_on_unbalanced() -> None:
    assert "unbalanced" not in PLAN.space.datasets


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
    rows, last, space = of_method(ROWS, method, 1), of_method(ROWS, method, 2), PLAN.space
    most = max(len(of_method(ROWS, name, 1)) for name in space.methods)
    assert len(rows) == len({row.settings for row in rows}) == most >= space.trials.least
    assert sum(row.proposal == "random" for row in rows) == space.trials.random
    assert space.finalists <= len(last) <= space.finalists + 1  # the start too, unless it is among the best
    assert {(row.seeds, row.passes) for row in rows} == {(str(space.seeds[0]), space.budget)}
    assert {(row.seeds, row.passes) for row in last} == {
        (" ".join(map(str, space.seeds)), PLAN.defaults.training.budget)
    }


@published
@pytest.mark.parametrize("method", list(PLAN.space.methods))
def test_no_winner_stands_at_an_edge_without_a_reason(method: str) -> None:
    best, grid = winner(of_method(ROWS, method)), PLAN.grid(method)
    assert best is not None
    tried = {row.settings for row in of_method(ROWS, method, 1)}
    for edge in find_edges(grid, grid.read(best.settings)):
        assert edge.beyond is None or grid.text(edge.beyond) in tried, f"{edge.axis}={edge.value}"


@published
def test_every_method_was_tuned_for_what_it_is_ranked_by() -> None:
    assert {row.criterion for row in ROWS} == {PLAN.defaults.benchmark.metrics[0]}


@published
def test_no_reported_seed_was_looked_at() -> None:
    used = {int(seed) for row in ROWS for seed in row.seeds.split()}
    assert not used & set(suite_seeds(ROOT))


FAMILY = load_plan(ROOT, "suites/tuning/family.yaml")
TRIALS = read_table(ROOT / FAMILY.folder / TABLE)


@pytest.mark.parametrize("method", list(FAMILY.space.methods))
def test_the_suite_family_has_the_winners_of_a_search_with_equal_trials(method: str) -> None:
    rows, last = of_method(TRIALS, method, 1), of_method(TRIALS, method, 2)
    most = max(len(of_method(TRIALS, name, 1)) for name in FAMILY.space.methods)
    assert len(rows) == len({row.settings for row in rows}) == most >= FAMILY.space.trials.least
    assert {(row.seeds, row.passes) for row in last} == {("1000 1001", FAMILY.defaults.training.budget)}
    best, suite = winner(of_method(TRIALS, method)), read_yaml(ROOT / "suites" / "family.yaml")
    assert best is not None
    assert suite["training"]["budget"] == FAMILY.defaults.training.budget
    methods = {**FAMILY.defaults.methods, method: {**FAMILY.defaults.methods[method], **suite["methods"][method]}}
    assert equals_defaults(FAMILY.defaults.model_copy(update={"methods": methods}), best)


@pytest.mark.parametrize(
    "folder", sorted(file.parent for file in (ROOT / PUBLISHED).rglob(TABLE)), ids=lambda at: at.name
)
def test_the_page_is_what_the_trials_give_whatever_the_defaults_are_now(folder: Path) -> None:
    name = "space" if folder == ROOT / PUBLISHED else folder.name
    plan = load_plan(ROOT, f"suites/tuning/{name}.yaml")
    text = render_report(plan, read_table(folder / TABLE), read_searches(folder))
    assert text == (folder / "report.md").read_text(encoding="utf-8")


DIGITS = load_plan(ROOT, "suites/tuning/digits.yaml")


@pytest.mark.parametrize("method", list(DIGITS.space.methods))
def test_the_settings_on_digits_are_the_winners_of_a_search_with_equal_trials(method: str) -> None:
    trials = read_table(ROOT / DIGITS.folder / TABLE)
    most = max(len(of_method(trials, name, 1)) for name in DIGITS.space.methods)
    assert len({row.settings for row in of_method(trials, method, 1)}) == most
    best = winner(of_method(trials, method))
    assert best is not None
    assert equals_defaults(DIGITS.defaults, best)
    start = DIGITS.grid(method).start
    assert DIGITS.grid(method).text(start) in {row.settings for row in of_method(trials, method, 2)}


def test_no_winner_on_family_or_digits_stands_at_an_edge_that_was_not_tried() -> None:
    text = "".join((ROOT / plan.folder / "report.md").read_text(encoding="utf-8") for plan in (FAMILY, DIGITS))
    assert "was tried and lost" in text
    assert "still at the edge" not in text
