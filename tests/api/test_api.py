"""`ebmbench.train` and `ebmbench.evaluate` give the numbers of the stages, and models take what users have."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ebmbench
from ebmbench import api
from ebmbench.config.params import load_params
from ebmbench.errors import UserError
from tests.api.conftest import CHAINS, own_data


@pytest.fixture(scope="module", autouse=True)
def settings(project: Path) -> Iterator[None]:
    """The settings of the project, which are small, in place of the defaults."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "_defaults", lambda: load_params(project))
        yield


@pytest.fixture(scope="module")
def model(settings: None) -> ebmbench.Trained:
    return ebmbench.train("dsm", own_data("plane"), seed=1, name="plane")


def test_dir_lists_the_api() -> None:
    public = [name for name in dir(ebmbench) if not name.startswith("_")]
    assert public == ["Trained", "evaluate", "load", "load_results", "train"] == sorted(ebmbench.__all__)
    assert all(getattr(ebmbench, name).__doc__ for name in public)


def test_a_run_has_the_weights_of_the_stage(model: ebmbench.Trained, project: Path) -> None:
    other = ebmbench.load(project / "runs/tiny/plane/dsm/train/seed=1")
    ours, theirs = model.network.state_dict(), other.network.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_an_evaluation_has_the_numbers_of_the_stage(model: ebmbench.Trained, project: Path) -> None:
    metrics = ["kl", "log_likelihood", "mmd", "sliced_wasserstein", "r_hat", "ess"]
    found = ebmbench.evaluate(model, metrics, own_data("plane"))
    rows = pd.read_csv(project / "runs/tiny/plane/dsm/rows.csv")
    rows = rows[rows["seed"] == 1].set_index("metric").loc[metrics]
    pd.testing.assert_series_equal(found["value"].astype(float), rows["value"], rtol=1e-12)
    assert found.loc["kl", "reason"] == rows.loc["kl", "reason"] == "the data's density is not known"
    assert found.loc["mmd", "n"] <= CHAINS
    assert next(model.network.parameters()).dtype == torch.float32  # judging in float64 has left it alone


def test_energy_and_score_give_back_what_came_in(model: ebmbench.Trained) -> None:
    x = np.random.default_rng(0).normal(size=(5, 2))
    expected = model.energy(torch.tensor(x, dtype=torch.float32)).numpy()
    for given in (x, x.astype(np.float32), np.asfortranarray(x), x[::-1][::-1]):
        energy, score = model.energy(given), model.score(given)
        assert isinstance(energy, np.ndarray)
        assert energy.dtype == score.dtype == given.dtype
        assert (energy.shape, score.shape) == ((5,), (5, 2))
        np.testing.assert_allclose(energy, expected, rtol=1e-6)
    assert model.score(torch.tensor(x)).dtype == torch.float64
    assert model.energy(np.zeros((3, 2), dtype=int)).dtype == np.float32


def test_the_same_seed_gives_the_same_draws(model: ebmbench.Trained) -> None:
    first, again, other = (model.sample(3, seed=seed).x for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: ebmbench.train("dms", "two_moons"), r"found 'dms', allowed: .*did you mean 'dsm'"),
        (lambda _: ebmbench.train("dsm", "plain"), r"'plain', allowed: .*did you mean 'plane'"),
        (lambda _: ebmbench.train("dsm", own_data("plane"), sgima=1.0), r"dsm\.sgima.*did you mean 'sigma'"),
        (lambda _: ebmbench.train("dsm", own_data("plane"), budget=0), r"budget: found 0"),
        (lambda _: ebmbench.train("dsm", own_data("plane"), sigma=[0.1, 0.2]), r"dsm\.sigma"),
        (lambda _: ebmbench.train("dsm", np.zeros(5)), r"found shape \(5,\)"),
        (lambda model: ebmbench.evaluate(model, ["lk"], own_data("plane")), r"found 'lk', allowed: .*'kl'"),
        (lambda model: ebmbench.evaluate(model, data=own_data("plane")[:50]), "trained on other data"),
        (lambda model: model.energy(np.zeros(2)), r"found events of the shape \(2,\), allowed: \(B, 2\)"),
    ],
)
def test_a_mistake_is_one_line_with_the_nearest_name(
    call: Callable[[ebmbench.Trained], Any], words: str, model: ebmbench.Trained
) -> None:
    with pytest.raises(UserError, match=words):
        call(model)


def test_a_name_that_the_package_does_not_have_is_an_attribute_error_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'train'"):
        ebmbench.trian  # noqa: B018
