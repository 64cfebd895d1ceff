"""A stage by hand: `ebmbench train two_moons dsm` says where its results are."""

from pathlib import Path

import pytest

from ebmbench.cli.main import main
from ebmbench.stages import baselines, evaluate, prepare, sample, train


@pytest.mark.parametrize(
    ("module", "words", "folder"),
    [
        (prepare, ["two_moons"], "prepared/two_moons"),
        (baselines, ["two_moons"], "runs/tiny/two_moons/_baselines"),
        (train, ["two_moons", "dsm"], "runs/tiny/two_moons/dsm/train"),
        (sample, ["two_moons", "dsm"], "runs/tiny/two_moons/dsm/sample"),
        (evaluate, ["two_moons", "dsm"], "runs/tiny/two_moons/dsm"),
    ],
)
def test_a_stage_by_hand_ends_with_the_folder_that_it_wrote_unless_it_failed(
    module: object,
    words: list[str],
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "params.yaml").write_text("benchmark: {suite: tiny}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for code, printed in ((0, f"{folder}\n"), (1, "")):
        monkeypatch.setattr(module, "main", lambda _, code=code: code)
        assert main([module.__name__.rpartition(".")[2], *words]) == code  # type: ignore[attr-defined]
        assert capsys.readouterr().out == printed
