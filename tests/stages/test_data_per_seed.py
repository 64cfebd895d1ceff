"""With `training.data_per_seed` each seed trains on a set of its own; it is a part of the run's name, and stays it."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ruamel.yaml import YAML

from ebmbench.config.params import load_params
from ebmbench.core import checkpoint
from ebmbench.core.dataset import Facts, load_facts, read_split
from ebmbench.data.common.sources import draw_training_set
from ebmbench.errors import UserError
from ebmbench.stages import checks
from ebmbench.stages.checks import check_suite
from ebmbench.stages.evaluate import evaluate_cell
from ebmbench.stages.prepare import prepare
from ebmbench.stages.sample import sample_cell
from ebmbench.stages.train import train_cell
from ebmbench.workspace.files import read_json

REPOSITORY = Path(__file__).parents[2]
SAMPLE = "import torch\ndef sample(count, generator):\n    return torch.randn(count, 3, generator=generator)\n"
SIZE = {"train": 200, "test": 50}


def make(root: Path, source: str = "ebmbench/data/two_moons.py", per_seed: bool = True, **overrides: Any) -> Path:
    """A project with one dataset and two seeds of dsm."""
    (root / "ebmbench/data").mkdir(parents=True, exist_ok=True)
    for file in ("two_moons.py", "digits.py"):
        shutil.copyfile(REPOSITORY / "ebmbench/data" / file, root / "ebmbench/data" / file)
    (root / "points.py").write_text(SAMPLE)
    np.save(root / "points.npy", np.random.default_rng(0).normal(size=(100, 2)))
    chosen = {"suite": "test", "seeds": [0, 1], "datasets": ["points"], "methods": ["dsm"], "metrics": ["kl"]}
    params = {
        "benchmark": chosen,
        "training": {"budget": 20_000, "batch_size": 32, "data_per_seed": per_seed},
        "sampling": {"chains": 20, "sampler": {"kind": "mala", "steps": 2, "step_size": 0.1}},
        "metrics": {"cells": 32},
        "datasets": {"points": {"source": source, **SIZE, "overrides": overrides}},
        "methods": {"dsm": {}},
    }
    YAML().dump(params, root / "params.yaml")
    return root


def trained(root: Path) -> dict[str, dict[str, Any]]:
    """The headers of both models, by label."""
    train_cell(root, "points", "dsm")
    folder = root / "runs/test/points/dsm/train"
    return {label: checkpoint.load(folder / label / "model.safetensors")[1] for label in ("seed=0", "seed=1")}


def drawn(root: Path, seed: int) -> torch.Tensor:
    entry = load_params(root).datasets["points"]
    return draw_training_set("points", entry, root, root / "prepared" / "points", seed)


@pytest.mark.parametrize("source", ["ebmbench/data/two_moons.py", "points.py"])
def test_each_seed_draws_a_set_of_its_own_of_the_same_size(tmp_path: Path, source: str) -> None:
    root = make(tmp_path, source)
    prepare(root, "points")
    shared = read_split(root / "prepared" / "points", "train")
    sets = [drawn(root, seed) for seed in (0, 1)]
    assert torch.equal(sets[0], drawn(root, 0))
    assert {one.shape for one in sets} == {shared.shape}
    for a, b in [(sets[0], sets[1]), (sets[0], shared), (sets[1], shared)]:
        assert not torch.isclose(a[:, None], b[None]).all(2).any()  # not one event is in both


def test_a_run_knows_the_facts_of_its_own_set_and_its_name_holds_them(tmp_path: Path) -> None:
    root = make(tmp_path)
    prepare(root, "points")
    facts, headers = load_facts(root / "prepared" / "points"), trained(root)
    for seed in (0, 1):
        own = drawn(root, seed)
        found = Facts(**headers[f"seed={seed}"]["facts"])
        assert found.mean == own.double().mean(0).tolist()
        assert (found.name, found.train, found.test) == (facts.name, facts.train, facts.test)
    hashes = {header["facts"]["hash"] for header in headers.values()}
    assert len(hashes | {facts.hash}) == 3
    digests = {read_json(path)["digest"] for path in root.glob("runs/test/points/dsm/train/*/status.json")}
    make(tmp_path, per_seed=False)
    assert {header["facts"]["hash"] for header in trained(root).values()} == {facts.hash}
    digests |= {read_json(path)["digest"] for path in root.glob("runs/test/points/dsm/train/*/status.json")}
    assert len(digests) == 4


def test_the_same_project_trains_to_the_same_bytes_and_is_judged_on_the_shared_test_set(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        root = make(tmp_path / name)
        prepare(root, "points")
        train_cell(root, "points", "dsm")
        sample_cell(root, "points", "dsm")
        evaluate_cell(root, "points", "dsm")
        cell = root / "runs/test/points/dsm"
        found.append([(cell / file).read_bytes() for file in ("train/seed=1/model.safetensors", "metrics.json")])
    assert found[0] == found[1]


def test_an_edit_of_the_source_since_the_data_were_prepared_is_refused(tmp_path: Path) -> None:
    root = make(tmp_path, "points.py")
    prepare(root, "points")
    (root / "points.py").write_text(SAMPLE + "# edited\n")
    with pytest.raises(UserError, match=r"points\.py: not what the data in points were prepared from"):
        train_cell(root, "points", "dsm")


@pytest.mark.parametrize("source", ["points.npy", "ebmbench/data/digits.py"])
def test_files_are_refused_before_anything_runs(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "require_declared", lambda root, stage: None)
    root = make(tmp_path, source)
    line = (
        rf"data_per_seed: found true, but {source} has neither density\(\) nor sample\(\) \(on points\), allowed: false"
    )
    with pytest.raises(UserError, match=line):
        check_suite(root, load_params(root))
    make(tmp_path, source, training={"data_per_seed": False})
    check_suite(root, load_params(root))
