"""Restarts of runs that really diverge: cd on digits with a hundred times the learning rate of suite `quick`."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.config.params import load_params
from ebmbench.core.dataset import load_facts, read_split
from ebmbench.experiment.sweep import cell_jobs
from ebmbench.training.run import train
from ebmbench.workspace.files import read_json
from tests.features.project import REPOSITORY, project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("digits"), "digits", {}, train=1297, test=500) / "prepared" / "digits"


def trained(data: Path, folder: Path, seed: int, **training: Any) -> dict[str, Any]:
    """What the status says of such a run."""
    one = next(iter(cell_jobs(load_params(REPOSITORY), "cd", load_facts(data))))
    settings = one.settings.model_copy(update={"learning_rate": 0.1})
    rules = one.training.model_copy(update={"budget": 800_000, **training})
    train(
        replace(one, settings=settings, training=rules, seed=seed), read_split(data, "train"), folder / "work", folder
    )
    status: dict[str, Any] = read_json(folder / "status.json")
    return status


def test_by_default_it_ends_where_it_diverged(data: Path, tmp_path: Path) -> None:
    status = trained(data, tmp_path, seed=0)
    assert (status["status"], status["restarts"], len(status["faults"])) == ("diverged", 0, 1)
    assert status["step"] < 20


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_restarts_halve_the_learning_rate_until_it_holds(data: Path, tmp_path: Path, seed: int) -> None:
    status = trained(data, tmp_path, seed, on_divergence="restart", restarts=2)
    assert (status["status"], status["restarts"], status["reason"]) == ("ok", 2, None)
    assert status["passes"] >= 800_000
    for fault in status["faults"]:
        assert "beyond 1e+06" in fault["cause"]
        assert 0 < fault["lost_passes"] <= fault["passes"]
    history = pd.read_csv(tmp_path / "history.csv")
    assert history["learning_rate"].max() <= 0.1 / 4
    assert all(math.isfinite(loss) for loss in history["loss"])


def test_one_restart_is_not_enough(data: Path, tmp_path: Path) -> None:
    status = trained(data, tmp_path, 0, on_divergence="restart", restarts=1)
    assert (status["status"], status["restarts"], len(status["faults"])) == ("diverged", 1, 2)
    assert status["reason"].endswith("; 1 restart before")
