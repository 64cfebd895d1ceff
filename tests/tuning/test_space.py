"""A space that cannot be searched is refused, by file and key, before anything runs."""

from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.tuning.space import load_plan
from ebmbench.tuning.trials import settings_text, settings_values
from tests.tuning.conftest import edit

FAULTS = [
    ("trials: 3", "trials: none", r"space.yaml: trials: found 'none'"),
    ("trials: 3", "trails: 3", r"space.yaml: trails: found an unknown key, .*did you mean 'trials'"),
    ("[1000, 1001]", "[1000, 1]", r"space.yaml: seeds: found 1, which suites/defaults.yaml has"),
    ("[1000, 1001]", "[1000, 7]", r"space.yaml: seeds: found 7, which suites/quick.yaml has"),
    ("[1000, 1001]", "[5, 5]", r"space.yaml: seeds: found 5 twice"),
    ("[two_moons,", "[two_mons,", r"space.yaml: datasets: found 'two_mons', .*did you mean 'two_moons'"),
    ("  nce:", "  nec:", r"space.yaml: methods: found 'nec', .*did you mean 'nce'"),
    (
        "{criterion: sliced_wasserstein, space: {learn",
        "{criterion: log_likelihood, space: {learn",
        r"dsm\.criterion: found",
    ),
    ("sigma: [", "sgma: [", r"methods\.dsm\.space: found 'sgma', .*did you mean 'sigma'"),
    ("sigma: [0.1, 0.3]", "sigma: [0.1, -1.0]", r"methods\.dsm\.space\.sigma: found -1\.0, allowed: greater than 0"),
    ("sigma: [0.1, 0.3]", "sigma: []", r"methods\.dsm\.space\.sigma: found \[\]"),
    (
        "[[1, 1.0], [2, 2.0]]",
        "[[1, 1.0], [2]]",
        r"methods\.nce\.space\.ratio, inflation: found \[2\], allowed: lists of 2",
    ),
    ("0.3]}}", "0.3]}, start: {sgma: 0.1}}", r"methods\.dsm\.start: found 'sgma'"),
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
    assert grid.values(grid.start) == {"learning_rate": 1e-2, "sigma": 0.2}


def test_settings_that_vary_together_are_one_axis(project: Path) -> None:
    grid = load_plan(project).grid("nce")
    assert grid.size == 3
    assert grid.values((1,)) == {"ratio": 2, "inflation": 2.0}
    assert grid.values(grid.start) == {"ratio": 1, "inflation": 1.5}


def test_the_start_may_be_kept_in_the_space(project: Path) -> None:
    edit(project, "0.3]}}", "0.3]}, start: {sigma: 0.3}}")
    grid = load_plan(project).grid("dsm")
    assert grid.values(grid.start) == {"learning_rate": 1e-2, "sigma": 0.3}


def test_settings_read_back_as_they_were_written() -> None:
    values = {"learning_rate": 5e-05, "sampler.steps": 10, "sampler.denoise": True, "temperature": None}
    assert settings_values(settings_text(values)) == values
