"""`ebmbench clean` on a `work/` like a real one: what it frees, what it spares, and when it refuses."""

import fcntl
from pathlib import Path

import pytest

from ebmbench.cli.main import main
from pipelines.lock import only_flow

FILES = {
    "0123456789abcdef/done/model.safetensors": 3,  # finished
    "0123456789abcdef/part-77/model.safetensors": 1,
    "00000000000000aa/checkpoint.safetensors": 2,  # half-finished
    "00000000000000aa/snapshot-512.safetensors": 2,
    "00000000000000aa/part-78/half": 1,
    "flow/logs/report.log": 1,
    "tuning/dsm.log": 1,
    "downloads/mnist/train.gz": 5,
    "scheduled/clone/.git/HEAD": 1,
    "scheduled/clone/.dvc/cache/x": 6,
    "failures/train_two_moons-dsm.json": 1,
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's `work/` with sizes in MiB, and the project as the current folder."""
    for name, size in FILES.items():
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_bytes(bytes(size * 2**20))
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "work"


def left(work: Path) -> set[str]:
    files = {file.relative_to(work).as_posix() for file in work.rglob("*") if file.is_file()}
    return {file for file in files if ".ebmbench/" not in file}


def test_a_dry_run_tells_the_size_of_each_kind_and_removes_nothing(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clean", "--dry-run"]) == 0
    assert left(work) == set(FILES)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["would", "free", "3.0", "MiB", "finished", "results"],
        ["would", "free", "2.0", "MiB", "leftovers", "of", "killed", "attempts"],
        ["would", "free", "2.0", "MiB", "logs"],
        ["kept", "4.0", "MiB", "half-finished", "runs"],
        ["kept", "5.0", "MiB", "downloads"],
        ["kept", "7.0", "MiB", "clones", "of", "schedules", "and", "workers"],
        ["would", "free", "7.0", "MiB", "(--all", "frees", "the", "rest)"],
    ]


def test_what_is_nowhere_else_stays(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean"]) == 0
    kept = ("checkpoint", "snapshot", "downloads", "scheduled", "failures")
    assert left(work) == {name for name in FILES if any(word in name for word in kept)}
    assert not (work / "0123456789abcdef").exists()
    assert capsys.readouterr().out.endswith("freed 7.0 MiB (--all frees the rest)\n")


def test_all_leaves_only_the_reasons_of_failures_which_a_report_shows(work: Path) -> None:
    assert main(["clean", "--all"]) == 0
    assert left(work) == {"failures/train_two_moons-dsm.json"}


def test_an_empty_project_frees_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["clean", "--all"]) == 0
    assert capsys.readouterr().out.endswith("freed 0.0 MiB\n")


@pytest.mark.parametrize("place", ["", "work/scheduled/clone"])
def test_nothing_is_removed_under_the_feet_of_a_run(work: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with only_flow(work.parent / place):
        assert main(["clean", "--all"]) == 1
    assert left(work) == set(FILES)
    assert "another run is at work" in capsys.readouterr().err


def test_a_stage_that_was_started_by_hand_is_not_disturbed_either(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "locks").mkdir()
    with (work / "locks" / "train_two_moons-dsm.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(["clean"]) == 2
    assert "train_two_moons-dsm is at work" in capsys.readouterr().err
    assert left(work) >= set(FILES)
