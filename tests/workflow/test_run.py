"""`ebmbench run` with its options in a clone of the project: real stages, the real flow."""

import json
import subprocess
import sys

import pytest

from ebmbench.workspace.locks import hold_workspace
from tests.workflow.conftest import Clone

CELL = {f"{kind}@two_moons-dsm" for kind in ("train", "sample", "evaluate")}
NEEDED = {"prepare@two_moons", "features@two_moons", "baselines@two_moons", "report"}


REFUSED = {
    "--only dsn/two_moons": "methods: found 'dsn', allowed: dsm, nce (did you mean 'dsm'?)",
    "--only two_moons/dsm": "did you mean 'dsm/two_moons'?",
    "--suite smoke": "first `ebmbench suite use smoke`",
}


def test_a_dry_run_that_cannot_be_planned_is_refused_in_one_line_and_leaves_nothing(clone: Clone) -> None:
    params = (clone.root / "params.yaml").read_bytes()
    # In one process: each would import all that a run needs.
    code = f"from ebmbench.cli.main import main\nfor words in {list(REFUSED)}:\n"
    code += "    assert main(['run', '--dry-run', *words.split()]) == 2"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=clone.root, env=clone.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    for line, message in zip(done.stderr.splitlines(), REFUSED.values(), strict=True):
        assert message in line
    assert not (clone.root / "work").exists()
    assert (clone.root / "params.yaml").read_bytes() == params


def test_a_dry_run_lists_the_stages_of_a_cell_with_reasons_and_leaves_nothing(clone: Clone) -> None:
    printed = clone.run("ebmbench", "run", "--dry-run", "--only", "dsm/two_moons")
    listed, counts = printed.split("\n\n")
    assert {line.split()[0]: line.split(maxsplit=1)[1] for line in listed.splitlines()} == dict.fromkeys(
        CELL | NEEDED, "never run"
    )
    assert counts.startswith("would run 7 of 7 chosen stages: ")
    assert not (clone.root / "work").exists()


def test_a_run_edits_nothing_while_another_is_at_work(clone: Clone) -> None:
    params = (clone.root / "params.yaml").read_bytes()
    with hold_workspace(clone.root):
        printed = clone.run("ebmbench", "run", "--suite", "smoke", code=1)
    assert printed.splitlines()[-1].startswith("error: another run is at work in this folder: pid ")
    assert (clone.root / "params.yaml").read_bytes() == params


def test_one_cell_runs_alone_and_is_told_as_json(clone: Clone) -> None:
    command = [sys.executable, "-m", "ebmbench", "run", "--json", "--jobs", "2", "--only", "dsm/two_moons"]
    done = subprocess.run(command, cwd=clone.root, env=clone.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert {name: stage["outcome"] for name, stage in record["stages"].items()} == dict.fromkeys(CELL | NEEDED, "ran")
    cell = record["cells"].pop("two_moons/dsm")
    assert record["cells"] == {}
    assert cell["outcome"] == "ran"
    assert cell["seconds"] == pytest.approx(sum(record["stages"][name]["seconds"] for name in CELL))
    assert record["report"] == "reports/tiny/latest/report.md"
    assert "[7/7] report ran" in done.stderr
    log = clone.root / record["stages"]["train@two_moons-dsm"]["log"]
    assert "Running stage 'train@two_moons-dsm'" in log.read_text(encoding="utf-8")
    assert {path.name for path in (clone.root / "runs/tiny/two_moons").iterdir()} == {"dsm", "_baselines"}


def test_the_cell_is_then_up_to_date_while_the_others_are_not(clone: Clone) -> None:
    assert "nothing to do: dsm/two_moons is up to date" in clone.run("ebmbench", "run", "--only", "dsm/two_moons")
    assert "train@two_moons-nce" in clone.run("ebmbench", "run", "--dry-run")


def test_dvc_repro_of_its_samples_in_another_clone_gives_the_same_bytes(clone: Clone, other_clone: Clone) -> None:
    """Of all stages, slowly, in test_day.py."""
    other_clone.run("dvc", "repro", "sample@two_moons-dsm")
    for file in ("history.csv", "train/seed=0/model.safetensors", "sample/seed=0/long.npy"):
        ours, theirs = (each.root / "runs/tiny/two_moons/dsm" / file for each in (clone, other_clone))
        assert theirs.read_bytes() == ours.read_bytes(), file
