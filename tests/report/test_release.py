"""Releases are copies that nobody changes; provenance tells what the numbers came from."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.report.release import release
from ebmbench.report.results.provenance import collect_provenance, describe_versions, lock_hash
from ebmbench.report.results.table import load_results, write_results
from ebmbench.report.sections.provenance import render_provenance
from ebmbench.workspace.code_hash import versions
from ebmbench.workspace.failures import note_failure
from tests.report.suite import PARAMS


@pytest.fixture
def project(report: Path, tmp_path: Path) -> Path:
    shutil.copytree(report, tmp_path / "reports/tiny/latest")
    for folder in (tmp_path, tmp_path / "reports/tiny/latest"):
        (folder / "params.yaml").write_text(json.dumps(PARAMS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A Git repository with one commit."""
    (tmp_path / "params.yaml").write_text("benchmark: {suite: tiny}\n")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first", "--no-verify"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize("version", ["0.1.0", "2026.11", "v1", "1.0rc1"])
def test_a_release_is_a_copy_of_the_latest_report(project: Path, version: str) -> None:
    target = release(project, "tiny", version)
    assert target == project / "reports/tiny" / version
    latest = project / "reports/tiny/latest"
    names = {file.relative_to(latest) for file in latest.rglob("*")}
    assert names == {file.relative_to(target) for file in target.rglob("*")}
    assert (target / "report.md").read_bytes() == (latest / "report.md").read_bytes()


def test_a_release_is_never_overwritten(project: Path) -> None:
    target = release(project, "tiny", "0.1.0")
    (target / "report.md").write_text("released")
    with pytest.raises(UserError, match="exists already"):
        release(project, "tiny", "0.1.0")
    assert (target / "report.md").read_text() == "released"


@pytest.mark.parametrize(
    "version",
    ["latest", "../1", "1/2", "", ".", "1.0 final", "1\n", "\n1", "1\x1b[2J", "1\x00", "１.２", "١", "1.2²", "1" * 300],
)
def test_a_version_that_is_no_version_is_refused(project: Path, version: str) -> None:
    with pytest.raises(UserError, match="version"):
        release(project, "tiny", version)


def test_without_a_report_there_is_nothing_to_release(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no report"):
        release(tmp_path, "tiny", "0.1.0")


def test_stale_cells_are_not_released_and_failed_ones_are(project: Path) -> None:
    results = project / "reports/tiny/latest/results.csv"
    frame = load_results(results)
    assert "failed" in set(frame["status"])
    release(project, "tiny", "0.1.0")
    frame.loc[frame["status"] == "failed", "status"] = "stale"
    write_results(frame, results)
    with pytest.raises(UserError, match=r"latest: found stale: two_moons/adance, allowed: none.*`ebmbench run`"):
        release(project, "tiny", "0.2.0")
    frame.loc[frame["status"] == "stale", "status"] = "not run"
    write_results(frame, results)
    with pytest.raises(UserError, match="found not run: two_moons/adance"):
        release(project, "tiny", "0.2.0")
    assert not (project / "reports/tiny/0.2.0").exists()


def test_neither_an_edited_report_nor_one_that_is_older_than_a_draft_is_released(project: Path) -> None:
    latest, draft = project / "reports/tiny/latest", project / "reports/tiny/draft"
    shutil.copytree(latest, draft)
    with pytest.raises(UserError, match="draft: found a partial or edited report"):
        release(project, "tiny", "0.1.0")
    shutil.rmtree(draft)
    page = (latest / "report.md").read_text(encoding="utf-8")
    (latest / "report.md").write_text(page.replace("· full report:", "· edited report:", 1), encoding="utf-8")
    with pytest.raises(UserError, match="latest: found a partial or edited report"):
        release(project, "tiny", "0.1.0")


def test_a_report_of_other_parameters_is_not_released_and_the_keys_are_named(project: Path) -> None:
    benchmark = PARAMS["benchmark"] | {"seeds": [0, 7]}
    own = project / "params.yaml"
    own.write_text(json.dumps(PARAMS | {"benchmark": benchmark}), encoding="utf-8")
    with pytest.raises(UserError, match=r"`benchmark.seeds` was \[0, 1, 2\], is now \[0, 7\]; "):
        release(project, "tiny", "0.1.0")
    own.write_text(json.dumps(PARAMS | {"resources": {"mle": {"gpus": 1}}}), encoding="utf-8")
    release(project, "tiny", "0.1.0")  # where cells run changes no number


def test_a_report_that_does_not_say_its_parameters_is_not_released(project: Path) -> None:
    (project / "reports/tiny/latest/params.yaml").unlink()
    with pytest.raises(UserError, match=r"params\.yaml: not found"):
        release(project, "tiny", "0.1.0")


def test_a_report_that_outlived_a_build_that_failed_is_not_released(project: Path) -> None:
    note_failure(project, "tiny", "report", "OSError: no space left")
    with pytest.raises(UserError, match=r"older than a build that failed \(OSError: no space left\)"):
        release(project, "tiny", "0.1.0")


def test_versions_are_those_that_made_the_cells_each_with_their_number(tmp_path: Path) -> None:
    now = versions()
    old = now | {"torch": "2.1.0"}
    assert describe_versions([[now], [now]]) == now
    assert describe_versions([[old], [old]]) == old | {"report built with": f"torch {now['torch']}"}
    mixed = describe_versions([[now, now], [now, old], [now]])
    assert mixed["torch"] == f"{now['torch']} (3 cells), 2.1.0 (1 cell)"
    assert mixed["numpy"] == now["numpy"]
    assert mixed["report built with"] == f"torch {now['torch']}"
    assert list(describe_versions([])) == ["report built with"]  # there are no numbers that anything made


def test_the_reports_own_files_do_not_make_a_checkout_dirty(checkout: Path) -> None:
    clean = collect_provenance(checkout, "tiny")["commit"]
    assert len(clean) == 40
    (checkout / "reports").mkdir()
    (checkout / "reports/report.md").write_text("new")
    (checkout / "dvc.lock").write_text("stages: {}\n")
    assert collect_provenance(checkout, "tiny")["commit"] == clean
    assert "not the commit's own" not in collect_provenance(checkout, "tiny")["params.yaml"]
    (checkout / "params.yaml").write_text("benchmark: {suite: other}\n")
    assert collect_provenance(checkout, "tiny")["commit"] == clean
    assert collect_provenance(checkout, "tiny")["params.yaml"].endswith("(not the commit's own)")
    (checkout / "method.py").write_text("edited = True\n")
    assert collect_provenance(checkout, "tiny")["commit"] == f"{clean} (with uncommitted changes)"
    assert collect_provenance(checkout, "tiny")["rebuild"] == f"git checkout {clean} && make bench SUITE=tiny"


def test_the_lock_is_hashed_without_the_report_and_without_order(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text("schema: '2.0'\nstages:\n  a: {cmd: x}\n  b: {cmd: y}\n  report: {outs: 1}\n")
    first = lock_hash(lock)
    lock.write_text("schema: '2.0'\nstages:\n  b: {cmd: y}\n  report: {outs: 2}\n  a: {cmd: x}\n")
    assert lock_hash(lock) == first
    lock.write_text("schema: '2.0'\nstages:\n  b: {cmd: y}\n  a: {cmd: z}\n")
    assert lock_hash(lock) != first


def test_provenance_names_programs_and_machine(tmp_path: Path) -> None:
    facts = collect_provenance(tmp_path, "tiny", [[versions()]])
    assert facts["commit"] == "none (not a Git checkout)"
    assert facts["numpy"].count(".") == 2
    assert "report built with" not in facts
    assert all(facts[name] for name in ("Python", "torch", "dvc", "prefect", "system", "processor", "cores", "memory"))


def test_provenance_is_one_line_with_everything_else_folded(checkout: Path) -> None:
    facts = collect_provenance(checkout, "tiny", [[versions()]])
    line, fold = render_provenance(facts).split("\n\n", 1)
    assert "\n" not in line
    assert line.startswith(f"Commit `{facts['commit'][:10]}` · ")
    assert f" · torch {versions()['torch']} · " in line
    assert facts["processor"] in line
    assert fold.startswith("<details>\n<summary>")
    assert fold.endswith("</details>")
    assert all(f"| {name} | {value} |" in fold for name, value in facts.items() if name != "rebuild")
    assert facts["rebuild"] in fold
    changed = render_provenance(facts | {"commit": f"{facts['commit']} (with uncommitted changes)"})
    assert changed.startswith(f"Commit `{facts['commit'][:10]}` (with uncommitted changes) · ")
