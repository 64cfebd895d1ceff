"""`ebmbench.load` of files that are no model of ours: one line that names the file, and nothing of it is run."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from ebmbench.config.registry import load as load_module
from ebmbench.config.sections import Training
from ebmbench.core import checkpoint
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import load
from tests.conftest import gaussian_facts
from tests.inputs.mutations import refusal
from tests.inputs.test_datasets import Evil

Header = dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, trained."""
    folder = tmp_path_factory.mktemp("run")
    method, network = load_module("methods", "dsm"), load_module("models", "mlp")
    training = Training(budget=2000, batch_size=16, rows=2)
    job = Job("dsm", method.Settings(), {}, 0, training, network.Settings(width=4, layers=2), gaussian_facts(2))
    (folder / "work").mkdir()
    train(job, torch.randn(100, 2, generator=stream(0, "data")), folder / "work", folder)
    return folder


def refused(path: Path, body: bytes, words: str | None = None) -> None:
    path.write_bytes(body)
    with pytest.raises(UserError, match=words) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert path.read_bytes() == body


def test_a_model_is_loaded(run: Path) -> None:
    assert load(run).energy(torch.zeros(3, 2)).shape == (3,)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.9, 0.999])
def test_a_truncated_model_is_refused(run: Path, tmp_path: Path, share: float) -> None:
    body = (run / "model.safetensors").read_bytes()
    refused(tmp_path / "m.safetensors", body[: int(share * len(body))], "not a whole safetensors file")


def test_a_pickle_in_disguise_is_refused_and_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    refused(tmp_path / "m.safetensors", pickle.dumps(Evil(trap)), "not a whole safetensors file")
    torch.save({"weight": Evil(trap)}, tmp_path / "t.safetensors")
    refused(tmp_path / "t.safetensors", (tmp_path / "t.safetensors").read_bytes(), "not a whole safetensors file")
    assert not trap.exists()


@pytest.mark.parametrize("metadata", [None, {"ebmbench": "{"}, {"ebmbench": "[1]"}, {"ebmbench": "[" * 9999}])
def test_a_file_of_another_program_is_refused(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors", metadata)
    refused(tmp_path / "m.safetensors", (tmp_path / "other.safetensors").read_bytes())


def test_a_model_of_another_version_is_refused_with_both(run: Path, tmp_path: Path) -> None:
    tensors, header = checkpoint.load(run / "model.safetensors")
    metadata = {"ebmbench": json.dumps({"format": "2", "header": header})}
    save_file(tensors, tmp_path / "new.safetensors", metadata)
    refused(tmp_path / "m", (tmp_path / "new.safetensors").read_bytes(), "found format '2', allowed: '1'")


HEADERS: dict[str, Callable[[Header], object]] = {
    "of another shape": lambda h: h["model"].update(width=5),
    "far too wide": lambda h: h["model"].update(width=10**12),
    "with a word for a number": lambda h: h["model"].update(width="wide"),
    "of a network that is not there": lambda h: h["settings"].update(model="mpl"),
    "of a method that is not there": lambda h: h.update(method="../../evil"),
    "with a setting that is not there": lambda h: h["settings"].update(sgima=1),
    "without facts": lambda h: h.pop("facts"),
    "with half the facts": lambda h: h["facts"].pop("shape"),
    "with facts of another kind": lambda h: h.update(facts=[1]),
    "without settings": lambda h: h.pop("settings"),
    "empty": lambda h: h.clear(),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_model_whose_header_does_not_fit_is_refused(run: Path, tmp_path: Path, kind: str) -> None:
    tensors, header = checkpoint.load(run / "model.safetensors")
    HEADERS[kind](header)
    checkpoint.save(tmp_path / "m", tensors, header)
    refused(tmp_path / "m", (tmp_path / "m").read_bytes())


def test_weights_of_another_model_are_refused(run: Path, tmp_path: Path) -> None:
    tensors, header = checkpoint.load(run / "model.safetensors")
    checkpoint.save(tmp_path / "m", {name: tensor[:1] for name, tensor in tensors.items() if tensor.dim()}, header)
    refused(tmp_path / "m", (tmp_path / "m").read_bytes(), "weights do not fit")


@settings(max_examples=100, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_model_is_loaded_or_refused_in_one_line(run: Path, tmp_path: Path, data: st.DataObject) -> None:
    body = bytearray((run / "model.safetensors").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "m.safetensors"
    path.write_bytes(body)
    line = refusal(lambda: load(path))
    assert line is None or line.startswith(f"{path}: ")
