"""Training tells how far it is, and is none the other for it."""

from pathlib import Path

import pytest

from ebmbench.training import run
from ebmbench.workspace import progress as module
from ebmbench.workspace.files import read_json
from tests.training.test_resume import DATA, job


def test_a_run_that_tells_its_progress_has_the_same_bytes_as_one_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.train(job("nce"), DATA, tmp_path / "a", tmp_path / "silent")
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    monkeypatch.setattr(run, "progress", module.Progress(str(tmp_path / "pulse.json")))
    run.train(job("nce"), DATA, tmp_path / "b", tmp_path / "telling")
    told = read_json(tmp_path / "pulse.json")
    assert told["share"] >= 1
    assert told["step"] == read_json(tmp_path / "telling/status.json")["step"]
    for name in ("model.safetensors", "status.json", "history.csv"):
        assert (tmp_path / "silent" / name).read_bytes() == (tmp_path / "telling" / name).read_bytes()
