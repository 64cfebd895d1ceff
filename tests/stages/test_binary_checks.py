"""What cannot work on binary data is one line at planning, before anything is prepared or trained."""

import shutil
from pathlib import Path

import pytest

from ebmbench.config import suites
from ebmbench.config.params import load_params
from ebmbench.errors import UserError
from ebmbench.stages.checks import _check_cells

ROOT = Path(__file__).parents[2]
SUITE = """
benchmark: {{suite: binary, datasets: [{dataset}], methods: [{method}], seeds: [0]}}
datasets: {{{dataset}: {{overrides: {overrides}}}}}
"""
NO_SWEEPS = (
    "for the model mlp, which has no Gibbs sweeps, allowed: models that have them "
    "(boltzmann, dbm, dbn, gaussian_rbm, rbm) (on ising)"
)


def plan(root: Path, dataset: str, method: str, overrides: str = "{}") -> None:
    shutil.copytree(ROOT / "suites", root / "suites")
    shutil.copytree(ROOT / "ebmbench" / "data", root / "ebmbench" / "data")
    (root / "suites" / "binary.yaml").write_text(SUITE.format(**locals()), encoding="utf-8")
    suites.use(root, "binary")
    _check_cells(root, load_params(root))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            "{training: {data_noise: 0.1}}",
            "training.data_noise: found 0.1, allowed: 0, for the data are binary (on ising)",
        ),
        (
            "{methods: {cd: {sampler: {kind: mala}}}}",
            "methods.cd.sampler.kind: found mala for binary data, allowed: block_gibbs, gibbs, tempering (on ising)",
        ),
        (
            "{sampling: {sampler: {kind: jumping}}}",
            "sampling.sampler.kind: found jumping for binary data, allowed: block_gibbs, gibbs, tempering (on ising)",
        ),
        (
            "{methods: {cd: {model: mlp}}}",
            f"methods.cd.sampler.kind: found block_gibbs {NO_SWEEPS}",
        ),
        (
            "{methods: {cd: {model: mlp, sampler: {kind: gibbs}}}, sampling: {sampler: {kind: tempering}}}",
            f"sampling.sampler.kind: found tempering {NO_SWEEPS}",
        ),
    ],
)
def test_it_is_refused_by_one_line_that_names_the_key(tmp_path: Path, overrides: str, words: str) -> None:
    with pytest.raises(UserError) as refused:
        plan(tmp_path, "ising", "cd", overrides)
    assert str(refused.value) == f"params.yaml: {words}"


@pytest.mark.parametrize("method", ["cd", "pseudo_likelihood", "dsm", "ism", "fd_ssm", "rank_nce", "brm"])
def test_what_fits_or_is_skipped_is_planned(tmp_path: Path, method: str) -> None:
    plan(tmp_path, "bars_and_stripes", method)


def test_any_energy_may_be_sampled_unit_by_unit(tmp_path: Path) -> None:
    plan(
        tmp_path,
        "ising",
        "cd",
        "{methods: {cd: {model: mlp, sampler: {kind: gibbs}}}, sampling: {sampler: {kind: gibbs}}}",
    )


def test_a_sweep_is_asked_only_of_a_machine_on_real_data_too(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found block_gibbs for the model mlp, which has no Gibbs sweeps"):
        plan(tmp_path, "two_moons", "cd", "{sampling: {sampler: {kind: block_gibbs}}}")
