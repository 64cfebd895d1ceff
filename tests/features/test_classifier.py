"""The reference classifier: how good it is, that it is the same every time, and that it draws from named streams."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmbench.config.sections import Features
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.features import classifier
from ebmbench.features.classifier import Classifier, hash_tensors, load_classifier, one_cycle, shift, train
from ebmbench.stages.features import make_features, skip
from ebmbench.workspace import progress
from ebmbench.workspace.files import read_json
from tests.conftest import gaussian_facts
from tests.features.project import digits, project


def test_digits_are_told_apart() -> None:
    status = read_json(digits() / "features/digits/status.json")
    assert status["status"] == "ok"
    assert status["n"] == 500
    assert status["accuracy"] >= 0.98
    assert status["extractor"] == f"classifier-digits-{status['hash']}"


@pytest.mark.slow
@pytest.mark.skipif("EBMBENCH_DATA" not in os.environ, reason="needs the files, in the folder that EBMBENCH_DATA names")
@pytest.mark.parametrize(("dataset", "least"), [("mnist", 0.99), ("fashion_mnist", 0.90)])
def test_larger_images_are_told_apart_with_the_default_settings(dataset: str, least: float, tmp_path: Path) -> None:
    make_features(project(tmp_path, dataset, {}), dataset)
    assert read_json(tmp_path / "features" / dataset / "status.json")["accuracy"] >= least


def _small(global_seed: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(global_seed)
    np.random.seed(global_seed)
    random.seed(global_seed)
    x = torch.rand(200, 1, 8, 8, generator=stream(0, "x"))
    y = (x.mean((1, 2, 3)) > 0.5).long()
    return train(x, y, 2, Features(epochs=2, batch_size=50)).state_dict()


def test_the_same_weights_every_time_whatever_the_global_seed() -> None:
    first, second = _small(0), _small(1)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_training_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    monkeypatch.setattr(classifier, "progress", progress.Progress(str(tmp_path / "pulse.json")))
    _small(0)
    told = read_json(tmp_path / "pulse.json")
    assert (told["share"], told["step"]) == (1.0, 2 * 200 // 50)


def test_training_leaves_the_global_generator_alone(untouched_global_generator: None) -> None:
    x = torch.rand(60, 1, 8, 8, generator=stream(0, "x"))
    train(x, torch.zeros(60).long(), 2, Features(epochs=1, batch_size=20))


@pytest.mark.parametrize("shape", [[1, 8, 8], [1, 28, 28], [3, 32, 32], [3, 64, 64], [1, 4, 4], [3, 20, 33]])
def test_images_of_any_shape_have_64_features(shape: list[int]) -> None:
    network = Classifier(shape, 7).initialise(stream(0, "weights")).eval()
    x = torch.rand(3, *shape, generator=stream(0, "x"))
    assert network.features(x).shape == (3, 64)
    assert network(x).shape == (3, 7)
    # Evaluation is frozen: an image's features do not depend on its batch.
    torch.testing.assert_close(network.features(x)[:1], network.features(x[:1]), rtol=1e-4, atol=1e-4)


def test_a_shift_moves_the_image_and_repeats_its_border() -> None:
    x = torch.arange(64.0).reshape(1, 1, 8, 8).expand(400, -1, -1, -1)
    moved = shift(x, stream(0, "shifts"))
    corners = set(moved[:, 0, 3, 3].tolist())
    assert corners == {float(8 * (3 + i) + 3 + j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    still = moved[moved[:, 0, 3, 3] == 27]
    assert torch.equal(still, x[: len(still)])
    down = moved[moved[:, 0, 3, 3] == 35][0, 0]  # looks one row further down, past the last row
    assert torch.equal(down, x[0, 0][[1, 2, 3, 4, 5, 6, 7, 7]])


def test_the_learning_rate_rises_to_one_and_falls_to_nothing() -> None:
    rates = [one_cycle(i / 1000) for i in range(1001)]
    assert max(rates) == pytest.approx(1)
    assert rates.index(max(rates)) == 200
    assert rates[0] == rates[-1] == 0


def test_a_reference_reads_back_the_same_and_is_named_by_its_weights(tmp_path: Path) -> None:
    made = load_classifier(digits() / "features/digits")
    made.save(tmp_path)
    assert load_classifier(tmp_path).name == made.name
    other = made.tensors | {"mean": made.tensors["mean"] + 1e-9}
    assert hash_tensors(other) != made.hash


def test_the_stage_writes_the_same_bytes_again_and_reuses_what_is_there(tmp_path: Path) -> None:
    root = project(tmp_path, "digits", {"epochs": 1}, train=200, test=50)
    files = [root / "features/digits" / name for name in ("classifier.safetensors", "manifest.json", "status.json")]
    make_features(root, "digits")
    first = [file.read_bytes() for file in files]
    assert {file.name for file in (root / "features/digits").iterdir()} == {file.name for file in files}
    make_features(root, "digits")  # found in work/
    assert [file.read_bytes() for file in files] == first
    for done in (root / "work").iterdir():
        done.rename(tmp_path / f"away-{done.name}")
    make_features(root, "digits")
    assert [file.read_bytes() for file in files] == first


def test_data_without_labels_or_images_are_skipped_with_a_reason() -> None:
    assert skip(gaussian_facts(2)) == "the data are no images"
    plain = Facts("plain", [1, 8, 8], 10, 10, [0.0] * 64, [], 1.0, "", "", levels=256)
    assert skip(plain) == "the images have no labels"


def test_a_skipped_dataset_leaves_its_reason(tmp_path: Path) -> None:
    root = project(tmp_path, "two_moons", {}, train=100, test=20)
    make_features(root, "two_moons")
    assert read_json(root / "features/two_moons/status.json") == {
        "status": "skipped",
        "reason": "the data are no images",
    }
    assert not (root / "features/two_moons/classifier.safetensors").exists()
