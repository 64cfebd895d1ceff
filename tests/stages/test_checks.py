"""A suite that was found good is looked at again as soon as anything that was looked at has changed."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.config import suites
from ebmbench.config.params import load_params
from ebmbench.stages import checks
from ebmbench.stages.checks import check_suite, confirm_suite
from ebmbench.workspace.layout import CHECKED_SUITE

ROOT = Path(__file__).parents[2]
EDITS: dict[str, Callable[[Path], object]] = {
    "a parameter": lambda root: _edit(root / "params.yaml", "sigma_max: 1.0", "sigma_max: 4.0"),
    "dvc.yaml": lambda root: _edit(root / "dvc.yaml", "stages:", "stages: "),
    "a dataset's file": lambda root: _edit(root / "ebmbench/data/two_moons.py", "import", "import "),
    "a dataset's file that is gone": lambda root: (root / "ebmbench/data/two_moons.py").unlink(),
    "the facts of the data": lambda root: _write(root / "prepared/two_moons/facts.json", "{}"),
    "a file that the data were made from": lambda root: _edit(root / "rows.csv", "1", "2"),
}


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "suites", tmp_path / "suites")
    shutil.copytree(ROOT / "ebmbench/data", tmp_path / "ebmbench/data")
    shutil.copyfile(ROOT / "dvc.yaml", tmp_path / "dvc.yaml")
    suites.use(tmp_path, "smoke")
    _write(tmp_path / CHECKED_SUITE, "another")
    _write(tmp_path / "rows.csv", "1")
    _write(tmp_path / "prepared/two_moons/source.json", '{"files": {"rows.csv": "0"}}')
    monkeypatch.setattr(checks, "require_declared", lambda root, stage: None)
    return tmp_path


@pytest.mark.parametrize("edit", list(EDITS))
def test_an_edit_is_noticed(root: Path, edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(checks, "_check_cells", lambda root, params: looked.append(root))
    for _ in range(2):
        check_suite(root, load_params(root))
    assert looked == [root]
    EDITS[edit](root)
    check_suite(root, load_params(root))
    assert looked == [root, root]


def test_data_that_a_good_run_has_prepared_are_no_reason_to_check_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(checks, "_check_cells", lambda root, params: looked.append(root))
    check_suite(root, load_params(root))
    EDITS["the facts of the data"](root)
    confirm_suite(root, load_params(root))
    check_suite(root, load_params(root))
    assert looked == [root]
    EDITS["dvc.yaml"](root)
    confirm_suite(root, load_params(root))  # an edit during the run: nobody has checked it
    check_suite(root, load_params(root))
    assert looked == [root, root]


def test_a_suite_with_a_fault_is_refused_every_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(root: Path, params: object) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(checks, "_check_cells", refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="a fault"):
            check_suite(root, load_params(root))


def test_where_dvc_has_no_folder_none_is_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_check_cells", lambda root, params: None)
    shutil.rmtree(root / ".dvc")
    check_suite(root, load_params(root))
    assert not (root / ".dvc").exists()


def test_a_suite_that_was_found_good_needs_no_torch(root: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ebmbench.config.params import load_params\n"
        "from ebmbench.stages.preparation import check_workspace\n"
        "check_workspace(Path(), load_params(Path())); print('torch' in sys.modules)"
    )
    answers = [
        subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert answers == ["True\n", "False\n"]
