"""A space that cannot be searched is refused, by file and key, before anything runs."""

from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.tuning.grid import settings_text, settings_values
from ebmbench.tuning.space import load_plan
from tests.tuning.conftest import edit

FAULTS = [
    ("random: 1", "random: none", r"space.yaml: trials\.random: found 'none'"),
    ("random: 1", "radnom: 1", r"space.yaml: trials\.radnom: found an unknown key, .*did you mean 'random'"),
    ("most: 8", "most: 3", r"space.yaml: trials\.most: found 3, allowed: at least 4"),
    ("budget: 10_000", "budget: 20_000", r"space.yaml: budget: found 20000, allowed: at most 15000"),
    ("[1000, 1001]", "[1000, 1]", r"space.yaml: seeds: found 1, which suites/defaults.yaml has"),
    ("[1000, 1001]", "[1000, 7]", r"space.yaml: seeds: found 7, which suites/quick.yaml has"),
    ("[1000, 1001]", "[5, 5]", r"space.yaml: seeds: found 5 twice"),
    ("[two_moons,", "[two_mons,", r"space.yaml: datasets: found 'two_mons', .*did you mean 'two_moons'"),
    ("  nce:", "  nec:", r"space.yaml: methods: found 'nec', .*did you mean 'nce'"),
    ("metric: sliced_wasserstein", "metric: log_likelihood", r"dsm\.criterion: found"),
    (", why: to be quick", "", r"methods\.dsm\.criterion\.why: found nothing"),
    ("sigma: [", "sgma: [", r"methods\.dsm\.space: found 'sgma', .*did you mean 'sigma'"),
    ("sigma: [0.1, 0.3]", "sigma: [0.1, -1.0]", r"methods\.dsm\.space\.sigma: found -1\.0, allowed: greater than 0"),
    ("sigma: [0.1, 0.3]", "sigma: []", r"methods\.dsm\.space\.sigma: found \[\]"),
    ("sigma: {least", "sgma: {least", r"methods\.dsm\.limits: found 'sgma', .*did you mean 'sigma'"),
    ("sigma: [0.1, 0.3]", "sigma: [0.1, 0.4]", r"methods\.dsm\.limits\.sigma: found 0\.4 in the space"),
    ("sigma: [0.1, 0.3]", "sigma: [0.01, 0.3]", r"methods\.dsm\.limits\.sigma: found 0\.01 in the space"),
    (", why: so be it", "", r"methods\.dsm\.limits\.sigma\.why: found nothing"),
    ("[2, 2.0]", "[2]", r"methods\.nce\.space\.ratio, inflation: found \[2\], allowed: lists of 2"),
    (
        "1.0]]}",
        '1.0]]}\n    limits: {"ratio, inflation": {least: 1, why: so}}',
        r"limits\.ratio, inflation: .* of numbers",
    ),
    ("0.3]}", "0.3]}\n    start: {sgma: 0.1}", r"methods\.dsm\.start: found 'sgma'"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS)
def test_a_fault_is_named_by_file_and_key(project: Path, old: str, new: str, message: str) -> None:
    edit(project, old, new)
    with pytest.raises(UserError, match=message):
        load_plan(project)


def test_a_method_without_an_entry_cannot_be_tuned(project: Path) -> None:
    with pytest.raises(UserError, match=r"space.yaml: methods: found 'mle', allowed: dsm, nce"):
        load_plan(project).grid("mle")


def test_a_default_that_is_not_on_the_grid_is_added_to_it(project: Path) -> None:
    grid = load_plan(project).grid("dsm")
    assert grid.axes == {"learning_rate": [1e-3, 1e-2], "sigma": [0.1, 0.2, 0.3]}
    assert grid.start == {"learning_rate": 1e-2, "sigma": 0.2}


def test_settings_that_vary_together_are_one_axis(project: Path) -> None:
    grid = load_plan(project).grid("nce")
    assert grid.size == 4
    assert grid.text(list(grid.all_settings())[1]) == "ratio=2, inflation=2.0"
    assert grid.text(grid.start) == "ratio=1, inflation=1.5"
    assert grid.read("ratio=2, inflation=2.0") == {"ratio, inflation": [2, 2.0]}


def test_the_start_may_be_kept_in_the_space(project: Path) -> None:
    edit(project, "0.3]}", "0.3]}\n    start: {sigma: 0.3}")
    assert load_plan(project).grid("dsm").start == {"learning_rate": 1e-2, "sigma": 0.3}


def test_a_method_is_tuned_for_what_it_is_ranked_by(project: Path) -> None:
    assert load_plan(project).criterion("dsm") == "sliced_wasserstein"
    edit(project, "    criterion: {metric: sliced_wasserstein, why: to be quick}\n", "")
    assert load_plan(project).criterion("dsm") == load_plan(project).defaults.benchmark.metrics[0] == "kl"


def test_only_the_committed_space_writes_the_published_report(project: Path) -> None:
    own = project / "mine" / "wide.yaml"
    own.parent.mkdir()
    own.write_bytes((project / "suites" / "tuning" / "space.yaml").read_bytes())
    assert load_plan(project).folder == "reports/tuning"
    assert load_plan(project, str(project / "suites" / "tuning" / "space.yaml")).folder == "reports/tuning"
    assert load_plan(project, "mine/wide.yaml").folder == "work/tuning/wide"


def test_settings_read_back_as_they_were_written() -> None:
    values = {"learning_rate": 5e-05, "sampler.steps": 10, "sampler.denoise": True, "temperature": None}
    assert settings_values(settings_text(values)) == values
