"""What a dataset changes for its own cells: laid over the file, checked like it, and no further than its cells."""

from pathlib import Path
from typing import Any

import pytest

from ebmbench.config.params import Params, load_params
from ebmbench.config.schema import check
from ebmbench.config.yaml import lay_over
from ebmbench.errors import UserError
from ebmbench.experiment.sweep import cell_jobs
from tests.conftest import gaussian_facts

ROOT = Path(__file__).parents[2]


def params(overrides: dict[str, Any]) -> Params:
    whole = load_params(ROOT).model_dump()
    whole["benchmark"] |= {"datasets": ["two_moons"], "seeds": [0]}
    whole["datasets"] = {"two_moons": whole["datasets"]["two_moons"] | {"overrides": overrides}}
    return check(Params, whole, "params.yaml")


def test_without_overrides_all_is_as_the_file_says() -> None:
    plain = params({})
    assert plain.on("two_moons") is plain


def test_overrides_are_laid_over_the_whole() -> None:
    here = params({"training": {"budget": 7}, "methods": {"dsm": {"sigma": 0.5}}}).on("two_moons")
    assert here.training.budget == 7
    assert here.training.batch_size == params({}).training.batch_size
    assert here.methods["dsm"]["sigma"] == 0.5
    assert here.methods["dsm"]["learning_rate"] == params({}).methods["dsm"]["learning_rate"]


def test_jobs_have_the_values_of_their_dataset() -> None:
    whole = params({"training": {"budget": 7}, "methods": {"dsm": {"sigma": [0.5, 0.6]}}})
    facts = gaussian_facts(2).as_dict() | {"name": "two_moons"}
    jobs = list(cell_jobs(whole, "dsm", type(gaussian_facts(2))(**facts)))
    assert [job.settings.sigma for job in jobs] == [0.5, 0.6]
    assert {job.training.budget for job in jobs} == {7}


def test_another_kind_of_sampler_replaces_and_the_same_kind_is_merged() -> None:
    base = {"sampler": {"kind": "mala", "steps": 20, "truncation": 2.0}}
    lay_over(base, {"sampler": {"kind": "mala", "steps": 5}})
    assert base["sampler"] == {"kind": "mala", "steps": 5, "truncation": 2.0}
    lay_over(base, {"sampler": {"kind": "langevin", "steps": 7}})
    assert base["sampler"] == {"kind": "langevin", "steps": 7}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"trainig": {}}, "datasets.two_moons.overrides: found 'trainig', allowed: .*did you mean 'training'"),
        ({"training": {"budgt": 5}}, "datasets.two_moons.overrides.training.budgt: found an unknown key"),
        ({"benchmark": None}, "datasets.two_moons.overrides.benchmark: found None, allowed: a mapping"),
        ({"training": {"budget": 0}}, "datasets.two_moons.overrides.training.budget: found 0"),
        (
            {"benchmark": {"seeds": [9]}},
            "datasets.two_moons.overrides.benchmark: found 'seeds', allowed: baselines, metrics",
        ),
        ({"training": 5}, "datasets.two_moons.overrides.training"),
    ],
)
def test_a_fault_is_named_where_it_stands(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        params(overrides).on("two_moons")
