"""Training tells how far it is, and is none the other for it."""

import csv
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


def test_a_log_gets_step_passes_loss_and_time_at_each_tenth_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "LINE_SECONDS", 0.0)
    run.train(job("nce"), DATA, tmp_path / "a", tmp_path / "run")
    lines = capsys.readouterr().err.splitlines()
    history = list(csv.DictReader((tmp_path / "run/history.csv").read_text(encoding="utf-8").splitlines()))
    assert len(lines) == 10
    for line, row in zip(lines, history[1::2], strict=True):
        words = f"step {float(row['step']):.0f}, {float(row['passes']):.0f} passes, loss {float(row['loss']):.4g}, "
        assert words in line
    assert " 100%, " in lines[-1]
    assert lines[-1].endswith(", 0 s left")
