"""The entries of `dvc.lock`: whether they name the inputs that a stage used, and how single ones are replaced."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ebmbench.errors import UserError
from ebmbench.workspace.record import hash_of
from pipelines.execution.process import reproduce
from pipelines.outcome import RAN, SKIPPED
from pipelines.planning.lockfile import (
    LockBuffer,
    entry_text,
    entry_texts,
    mismatched_inputs,
    output_paths,
    read_entries,
    read_entry,
    remove_from_run_cache,
    write_entries,
)
from pipelines.planning.plan import read_plan

# Writes what it has read, and its record; then, as a hasty user would, `late` edits the input before DVC has hashed it.
STAGE = """\
import json, pathlib, sys
sys.path.insert(0, {root!r})
from ebmbench.workspace.record import write_record, hash_of
x = pathlib.Path("x.txt")
pathlib.Path("out.txt").write_text(x.read_text())
write_record(pathlib.Path("record.json"), "copy", {{"n": 1}}, {{"x.txt": hash_of(x)}})
late = pathlib.Path("late")
if late.exists():
    x.write_text(late.read_text())
    late.unlink()
"""
PIPELINE = """\
stages:
  copy:
    cmd: python copy_x.py
    params: [n]
    deps: [x.txt]
    outs: [out.txt, record.json]
  report:
    cmd: cp out.txt report.txt
    deps: [out.txt]
    outs: [report.txt]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "copy_x.py").write_text(STAGE.format(root=str(Path(__file__).parents[2])))
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "params.yaml").write_text("n: 1\nbenchmark: {suite: s, datasets: [], methods: []}\n")
    (tmp_path / "x.txt").write_text("1")
    for command in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def dvc(project: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "dvc", *words], cwd=project, check=True)


def test_an_input_edited_as_the_stage_ends_makes_it_run_again(project: Path) -> None:
    (project / "late").write_text("2")
    assert reproduce(project, "copy", Event()).kind == RAN
    assert (project / "out.txt").read_text() == "2"
    assert mismatched_inputs(project, read_entry(project / "dvc.lock", "copy")) == []
    assert reproduce(project, "copy", Event()).kind == SKIPPED


def test_a_run_of_dvc_alone_that_was_deceived_is_found_when_the_next_run_is_planned(project: Path) -> None:
    (project / "late").write_text("2")
    dvc(project, "repro")
    assert (project / "out.txt").read_text() == "1"  # DVC believes that it was made from "2"
    assert mismatched_inputs(project, read_entry(project / "dvc.lock", "copy")) == ["x.txt"]
    plan = read_plan(project)
    assert {stage.name: stage.force for stage in plan.todo} == {"copy": True, "report": False}
    assert "x.txt changed unseen by DVC" in str(plan.todo[0].why)
    assert reproduce(project, "copy", Event(), force=True).kind == RAN
    assert (project / "out.txt").read_text() == "2"
    assert reproduce(project, "report", Event()).kind == RAN
    assert read_plan(project).todo == ()


def test_a_false_entry_leaves_the_run_cache_too(project: Path) -> None:
    (project / "late").write_text("2")
    dvc(project, "repro", "copy")
    entry = read_entry(project / "dvc.lock", "copy")
    remove_from_run_cache(project, entry)
    for name in ("dvc.lock", "out.txt", "record.json"):
        (project / name).unlink()
    dvc(project, "repro", "copy")
    assert (project / "out.txt").read_text() == "2"


def test_parameters_count_as_files_do(project: Path) -> None:
    dvc(project, "repro", "copy")
    record = json.loads((project / "record.json").read_text())
    assert record["inputs"] == {"x.txt": hash_of(project / "x.txt")}
    (project / "record.json").write_text(json.dumps({**record, "params": {"n": 2}}))
    assert mismatched_inputs(project, read_entry(project / "dvc.lock", "copy")) == ["params.yaml: n"]


def test_an_input_that_dvc_does_not_see_is_compared_with_what_is_there(project: Path) -> None:
    dvc(project, "repro", "copy")
    record = json.loads((project / "record.json").read_text())
    (project / "weights").write_text("1")
    record["inputs"]["weights"] = hash_of(project / "weights")
    (project / "record.json").write_text(json.dumps(record))
    assert mismatched_inputs(project, read_entry(project / "dvc.lock", "copy")) == []
    (project / "weights").write_text("2")
    assert mismatched_inputs(project, read_entry(project / "dvc.lock", "copy")) == ["weights"]


def test_a_folder_is_hashed_as_dvc_does(project: Path) -> None:
    folder = project / "folder"
    (folder / "b" / "__pycache__").mkdir(parents=True)
    for name in ("b/y.txt", "b.txt", "a-é.txt", ".hidden", "b/z", "b/left_out.log", "work", ".y.part"):
        (folder / name).write_text(name)
    (folder / "b" / "__pycache__" / "x.pyc").write_text("x")
    (project / ".dvcignore").write_text("__pycache__/\n*.pyc\n.*.part\nwork/\n/folder/**/*.log\n")
    (project / "dvc.yaml").write_text("stages:\n  one: {cmd: 'echo', deps: [folder]}\n")
    dvc(project, "repro")
    found = {str(dep["path"]): dep["md5"] for dep in read_entry(project / "dvc.lock", "one")["deps"]}
    assert found == {"folder": hash_of(folder)}


LOCK = """\
schema: '2.0'
stages:
  prepare@rings:
    cmd: echo rings
    outs:
    - path: data/rings
      md5: 1
  train@rings-dsm:
    cmd: "true"
    deps:
    - path: data/rings
  train@rings-dsm2:
    cmd: "true"
"""


def test_an_entry_is_all_lines_of_its_stage_and_no_others(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text(LOCK)
    assert entry_text(lock, "train@rings-dsm2") == '  train@rings-dsm2:\n    cmd: "true"\n'
    assert entry_text(lock, "never@there") == ""
    assert output_paths(lock, "prepare@rings") == ["data/rings"]
    assert output_paths(lock, "train@rings-dsm") == []


def test_an_entry_takes_the_place_of_the_one_that_was_there(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text(LOCK)
    new = "  train@rings-dsm:\n    cmd: other\n"
    write_entries(lock, {"train@rings-dsm": new})
    head, rest = LOCK.split("  train@rings-dsm:\n")
    assert lock.read_text() == head + new + rest[rest.index("  train@rings-dsm2") :]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema: '2.0'", "schema: 2.0"),
        ("  train@rings-dsm2:\n", "<<<<<<< HEAD\n  train@rings-dsm2:\n"),
        ("  train@rings-dsm2:\n", "  train@rings-dsm:\n"),
        ("  train@rings-dsm2:\n", "datasets: []\n  train@rings-dsm2:\n"),
    ],
)
def test_a_lock_that_dvc_did_not_write_is_left_alone(tmp_path: Path, old: str, new: str) -> None:
    lock = tmp_path / "dvc.lock"
    assert old in LOCK
    lock.write_text(LOCK.replace(old, new))
    with pytest.raises(UserError, match=r"dvc\.lock: not as DVC writes it"):
        write_entries(lock, {"a": "  a:\n    cmd: b\n"})
    assert lock.read_text() == LOCK.replace(old, new)


def test_a_lock_that_is_no_text_does_not_stop_the_reader_but_the_writer(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_bytes(b"\xff" + LOCK.encode())
    assert LockBuffer(tmp_path).text("other") == ""
    with pytest.raises(UserError, match="no UTF-8"):
        write_entries(lock, {"a": "  a:\n    cmd: b\n"})


def test_reading_the_lock_makes_no_folder_of_dvc(project: Path) -> None:
    part = project / "part"
    part.mkdir()
    (part / "dvc.lock").write_text(LOCK)
    assert set(read_entries(part)) == set(entry_texts(part / "dvc.lock"))
    assert list(part.iterdir()) == [part / "dvc.lock"]


def test_a_lock_is_made_where_there_is_none_and_never_left_without_stages(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    write_entries(lock, {"a": "  a:\n    cmd: b\n"})
    assert lock.read_text() == "schema: '2.0'\nstages:\n  a:\n    cmd: b\n"
    write_entries(lock, {"a": ""})
    assert not lock.exists()


def test_dvc_takes_an_entry_that_was_put_for_its_own(done: Path, dvc: Callable[..., str]) -> None:
    lock = done / "dvc.lock"
    entry = entry_text(lock, "train@rings-dsm")
    write_entries(lock, {"train@rings-dsm": ""})
    assert "train@rings-dsm" in dvc(done, "status", "--json")
    write_entries(lock, {"train@rings-dsm": entry})
    assert dvc(done, "status", "--json").strip() == "{}"
