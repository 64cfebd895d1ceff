"""`ebmbench clean` on a `work/` like a real one: what it frees, what it spares, and when it refuses."""

import fcntl
import shutil
from pathlib import Path

import pytest

from ebmbench.cli.main import main
from ebmbench.workspace.locks import hold_workspace
from ebmbench.workspace.store import Store
from pipelines.execution.clone import init_clone

FILES = {
    "0123456789abcdef/done/model.safetensors": 3,  # finished
    "0123456789abcdef/part-77/model.safetensors": 1,
    "00000000000000aa/checkpoint.safetensors": 2,  # half-finished
    "00000000000000aa/snapshot-512.safetensors": 2,
    "00000000000000aa/part-78/half": 1,
    "flow/logs/report.log": 1,
    "tuning/dsm.log": 1,
    "tuning/wide/report.md": 1,
    "pages/quick-latest.html": 0,
    "downloads/mnist/train-images-idx3-ubyte.gz": 5,
    "scheduled/clone/.git/big": 1,
    "scheduled/clone/.dvc/cache/x": 6,
    "failures/train_two_moons-dsm.log": 1,
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's `work/` with sizes in MiB, and the project as the current folder."""
    for name, size in FILES.items():
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_bytes(bytes(size * 2**20))
    (tmp_path / "params.yaml").touch()
    init_clone(tmp_path / "claimed")
    shutil.copytree(tmp_path / "claimed" / ".git", tmp_path / "work/scheduled/clone/.git", dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "claimed")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "work"


def left(work: Path) -> set[str]:
    files = {file.relative_to(work).as_posix() for file in work.rglob("*") if file.is_file() or file.is_symlink()}
    made = {file for file in files if ".ebmbench/" in file or file.startswith("scheduled/clone/.git/")}
    return files - (made - set(FILES))


def test_a_dry_run_tells_the_size_of_each_kind_and_removes_nothing(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clean", "--dry-run"]) == 0
    assert left(work) == set(FILES)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["would", "free", "3.0", "MiB", "finished", "results"],
        ["would", "free", "2.0", "MiB", "leftovers", "of", "killed", "attempts"],
        ["would", "free", "4.0", "MiB", "logs"],
        ["kept", "4.0", "MiB", "half-finished", "runs"],
        ["kept", "5.0", "MiB", "downloads"],
        ["kept", "7.0", "MiB", "clones", "of", "schedules", "and", "workers"],
        ["would", "free", "9.0", "MiB", "(--all", "frees", "the", "rest)"],
    ]


def test_what_is_nowhere_else_stays(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean"]) == 0
    kept = ("checkpoint", "snapshot", "downloads", "scheduled")
    assert left(work) == {name for name in FILES if any(word in name for word in kept)}
    assert not (work / "0123456789abcdef").exists()
    assert capsys.readouterr().out.endswith("freed 9.0 MiB (--all frees the rest)\n")


def test_all_leaves_nothing_that_ebmbench_wrote(work: Path) -> None:
    assert main(["clean", "--all"]) == 0
    assert left(work) == set()


MINE = [
    "mine.npy",
    "mine/notes.txt",
    "0123456789abcdef/done/mine.txt",
    "00000000000000aa/mine.txt",
    "flow/logs/mine.csv",
    "tuning/mine/best.yaml",
    "downloads/mine/train.npy",
    "scheduled/mine/.git/HEAD",
    "workers/mine.txt",
]


@pytest.mark.parametrize("words", [[], ["--all"]])
def test_what_the_program_did_not_write_stays_and_is_named(
    work: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in MINE:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("mine")
    assert main(["clean", *words]) == 0
    assert set(MINE) <= left(work)
    told = next(line for line in capsys.readouterr().out.splitlines() if "not written by ebmbench" in line)
    assert told.startswith("kept ")
    assert told.endswith(
        "  not written by ebmbench: work/00000000000000aa/mine.txt, work/0123456789abcdef/done/mine.txt, "
        "work/downloads/mine/train.npy and 6 more"
    )


def test_a_link_is_not_followed(work: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.move(work / "downloads", elsewhere / "downloads")
    (work / "downloads").symlink_to(elsewhere / "downloads")
    assert main(["clean", "--all"]) == 0
    assert (elsewhere / "downloads/mnist/train-images-idx3-ubyte.gz").is_file()
    assert (work / "downloads").is_symlink()


def test_a_result_goes_by_its_list(work: Path) -> None:
    shutil.rmtree(work / "0123456789abcdef")
    done = Store(work).obtain("0123456789abcdef", lambda _, result: (result / "any.thing").write_text("1") and None)
    (done / "model.safetensors").write_text("mine")  # one of our names, but not in this result
    assert main(["clean"]) == 0
    assert [file for file in left(work) if file.startswith("0123")] == ["0123456789abcdef/done/model.safetensors"]


def test_an_empty_project_frees_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["clean", "--all"]) == 0
    assert capsys.readouterr().out.endswith("freed 0.0 MiB\n")


@pytest.mark.parametrize("place", ["", "work/scheduled/clone"])
def test_nothing_is_removed_under_the_feet_of_a_run(work: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with hold_workspace(work.parent / place):
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
