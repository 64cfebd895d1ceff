"""DVC's own commands on the one file of metrics that the report writes: they fit the width of a terminal."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.workflow.conftest import Clone, make_clone

FILE = "reports/tiny/latest/summary.json"
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
MEDIANS = {"two_moons": {"nce": 0.0022, "dsm": 0.0177}}


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which a summary was committed, and then a value was changed; no stage runs."""
    clone = make_clone(tmp_path_factory.mktemp("metrics"), server="")
    (clone.root / FILE).parent.mkdir(parents=True)
    write(clone.root, MEDIANS)
    for command in (["add", "-A"], [*IDENTITY, "commit", "-qm", "a report"]):
        subprocess.run(["git", *command], cwd=clone.root, check=True)
    write(clone.root, {"two_moons": MEDIANS["two_moons"] | {"dsm": 0.0123}})
    clone.edit("params.yaml", "sigma: 0.1", "sigma: 0.2")
    return clone


def write(root: Path, medians: dict[str, dict[str, float]]) -> None:
    (root / FILE).write_text(json.dumps(medians), encoding="utf-8")


def width(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_the_summary_is_the_only_file_of_metrics(edited: Clone) -> None:
    shown = json.loads(edited.run("dvc", "metrics", "show", "--json"))
    assert shown[""]["data"] == {FILE: {"data": json.loads((edited.root / FILE).read_text())}}
    assert width(edited.run("dvc", "metrics", "show")) <= 80


def test_a_difference_is_one_line(edited: Clone) -> None:
    lines = edited.run("dvc", "metrics", "diff").splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [[FILE, "two_moons.dsm", "0.0177", "0.0123"]]
    assert max(map(len, lines)) <= 100


def test_experiments_show_what_changed(edited: Clone) -> None:
    table = edited.run("dvc", "exp", "show", "--only-changed", "--md")
    header = [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")]
    assert header == ["Experiment", "Created", "two_moons.dsm", "methods.dsm.sigma"]
    assert width(table) <= 100
