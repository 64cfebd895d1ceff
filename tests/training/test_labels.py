"""Labels reach the methods that ask for them, row by row, and change nothing for the others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ruamel.yaml import YAML
from torch import Tensor

import ebmbench
from ebmbench.config.params import load_params
from ebmbench.core.dataset import load_facts, read_labels
from ebmbench.core.streams import Draw
from ebmbench.errors import UserError
from ebmbench.experiment.sweep import cell_settings
from ebmbench.stages.evaluate import evaluate_cell
from ebmbench.stages.prepare import prepare
from ebmbench.stages.sample import sample_cell
from ebmbench.stages.train import train_cell
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trainer import Trainer
from ebmbench.workspace.files import load_arrays, read_json
from tests.images import images
from tests.training.test_resume import DATA, LABELS, job

REASON = "the data have no labels, which this method learns"
LANGEVIN = {"kind": "langevin", "steps": 2, "step_size": 1.0, "noise_std": 0.01, "box": 1.0}


def handed(one: Job, labels: Tensor | None) -> list[tuple[Tensor, ...]]:
    """What a method is given in three steps: events, and labels if any."""
    trainer, found = Trainer(one, DATA, labels), []
    forward = trainer.method.forward

    def look(energy: object, x: Tensor, draw: Draw, *given: Tensor) -> Tensor:
        found.append((x, *given))
        return forward(energy, x, draw, *given)

    trainer.method.forward = look
    for _ in range(3):
        trainer._update()
    return found


@pytest.mark.parametrize("size", [32, 500])
def test_a_method_that_asks_is_given_the_labels_of_its_batch(size: int) -> None:
    """By the same index: the first coordinate says which label an event has."""
    one = job("jem")
    one = replace(one, training=one.training.model_copy(update={"batch_size": size}))
    for x, labels in handed(one, LABELS):
        assert torch.equal(labels, (x[:, 0] > 0).long())
        assert labels.float().mean() == pytest.approx(0.5, abs=0.4)


def test_another_method_is_given_none_and_has_the_same_batches_with_and_without() -> None:
    batches = handed(job("dsm"), LABELS), handed(job("dsm"), None), handed(job("jem"), LABELS)
    assert {len(given) for given in batches[0]} == {1}
    for one, other, third in zip(*batches, strict=True):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[0], third[0])


def test_without_labels_it_is_skipped_with_a_reason(tmp_path: Path) -> None:
    one = job("jem")
    train(replace(one, facts=replace(one.facts, classes=[])), DATA, tmp_path, tmp_path)
    assert {key: read_json(tmp_path / "status.json")[key] for key in ("status", "reason")} == {
        "status": "skipped",
        "reason": REASON,
    }
    with pytest.raises(UserError, match=f"^ebmbench.train: {REASON}$"):
        ebmbench.train("jem", DATA.numpy(), budget=1000)


def make(root: Path) -> Path:
    """A project with labelled images and points without labels."""
    y = np.arange(120) % 3
    x = ((images(120).numpy() + 1) * 8 + 0.5).astype(np.uint8)
    np.savez(root / "pictures.npz", x=x, y=y)
    np.save(root / "points.npy", np.random.default_rng(0).normal(size=(100, 2)))
    entries = {name: {"source": file} for name, file in (("pictures", "pictures.npz"), ("points", "points.npy"))}
    metrics = ["accuracy", "calibration_error"]
    params: dict[str, Any] = {
        "benchmark": {"suite": "test", "seeds": [0], "datasets": list(entries), "methods": ["jem"], "metrics": metrics},
        "training": {"budget": 40_000, "batch_size": 32, "snapshots": []},
        "models": {"mlp": {"width": 16, "layers": 1}},
        "sampling": {"chains": 10, "kinds": ["short"], "own": True, "short": 5, "sampler": LANGEVIN},
        "datasets": entries,
        "methods": {"jem": {"sampler": LANGEVIN, "buffer": 50, "learning_rate": 1e-3}},
    }
    YAML().dump(params, root / "params.yaml")
    for name in entries:
        prepare(root, name)
    return root


def test_the_stages_train_and_judge_it_on_labelled_images_and_skip_other_data(tmp_path: Path) -> None:
    root = make(tmp_path)
    for name in ("pictures", "points"):
        train_cell(root, name, "jem")
        sample_cell(root, name, "jem")
        evaluate_cell(root, name, "jem")
    cell = root / "runs/test/pictures/jem"
    facts = load_facts(root / "prepared/pictures")
    assert len(facts.classes) == 3
    assert load_arrays(cell / "sample/seed=0/films.npz")["classes"].shape == (3, 16, 1, 8, 8)
    found = read_json(cell / "metrics.json")["seed=0"]
    model = ebmbench.load(cell / "train/seed=0")
    test = torch.from_numpy(np.load(root / "prepared/pictures/test.npy")).float() * (2 / (facts.image_levels - 1)) - 1
    right = model.network.logits(test).argmax(1) == read_labels(root / "prepared/pictures", "test")
    assert found["accuracy"] == pytest.approx(float(right.double().mean()))
    assert 0 <= found["calibration_error"] <= 1
    assert load_arrays(cell / "pictures.npz")["conditional:seed=0"].shape == (3, 16, 1, 8, 8)
    skipped = read_json(root / "runs/test/points/jem/train/seed=0/status.json")
    assert (skipped["status"], skipped["reason"]) == ("skipped", REASON)


def test_the_file_of_labels_is_there_for_every_dataset_and_empty_without_labels(tmp_path: Path) -> None:
    root = make(tmp_path)
    assert len(read_labels(root / "prepared/points", "train")) == 0
    assert len(read_labels(root / "prepared/pictures", "train")) == load_facts(root / "prepared/pictures").train
    assert load_facts(root / "prepared/points").classes == []


def test_a_network_without_an_output_for_each_class_is_refused(tmp_path: Path) -> None:
    params = load_params(make(tmp_path))
    wrong = params.model_copy(update={"methods": {"jem": {"model": "residual"}}})
    words = (
        r"methods\.jem\.model: found 'residual', allowed: networks with an output for each class \(convnet, mlp, tiny\)"
    )
    with pytest.raises(UserError, match=words):
        list(cell_settings(wrong, "jem"))
