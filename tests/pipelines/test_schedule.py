"""A scheduled run without a server: its parameters, code and data, the copy of its report and its commit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.workspace.layout import SCHEDULE_CLONE
from ebmbench.workspace.locks import hold_workspace
from pipelines.execution.clone import _PREPARE, check_out, clone_variables, init_clone, prepare_clone, resolve_commit
from pipelines.execution.signals import EXIT_STOPPED
from pipelines.flows.publish import commit_results, copy_report
from pipelines.flows.serve import RunRequest
from pipelines.outcome import EXIT_FAILED, FAILED, RAN, RESTORED, SKIPPED, Outcome, Result
from tests.pipelines.test_clone import run_git, save, source

__all__ = ["source"]

REPORT = "reports/tiny/latest/report.md"


@pytest.fixture
def clone(source: Path) -> Path:
    """A clone in its usual place, after a run that changed `dvc.lock` and the report."""
    save(source, "params.yaml", "benchmark: {suite: tiny}\n")
    save(source, ".gitignore", "work/\n")
    init_clone(source / SCHEDULE_CLONE)
    check_out(source / SCHEDULE_CLONE, source, resolve_commit(source, "HEAD"))
    (source / SCHEDULE_CLONE / "dvc.lock").write_text("new\n")
    (source / SCHEDULE_CLONE / REPORT).write_text("new\n")
    return source / SCHEDULE_CLONE


def made(kind: str, code: int = 0, report: str | None = REPORT) -> Result:
    return Result(stages={"report": Outcome(kind)}, report=report, exit_code=code)


def test_relative_folders_start_at_the_workspace_wherever_prefect_starts_the_flow(tmp_path: Path) -> None:
    request = RunRequest(str(tmp_path), keep="nightly", clone="/elsewhere/clone", only=("dsm",))
    folders = {"workspace": str(tmp_path), "keep": str(tmp_path / "nightly"), "clone": "/elsewhere/clone"}
    assert {key: request.parameters[key] for key in folders} == folders
    assert request.parameters["only"] == ["dsm"]
    assert RunRequest(str(tmp_path)).parameters["clone"] == str(tmp_path / "work/scheduled/clone")
    assert RunRequest(str(tmp_path)).parameters["keep"] is None


@pytest.mark.parametrize("kind", [RAN, RESTORED])
def test_a_new_report_is_copied_to_a_folder_named_by_suite_time_and_commit(
    clone: Path, tmp_path: Path, kind: str
) -> None:
    place = copy_report(clone, made(kind, EXIT_FAILED), "0123456789", tmp_path / "kept")
    assert place is not None
    assert place.parent == tmp_path / "kept" / "tiny"
    assert place.name.endswith("Z-0123456")
    assert (place / "report.md").read_text() == "new\n"


@pytest.mark.parametrize(
    "result",
    [Result(report=REPORT), made(SKIPPED), made(FAILED, EXIT_FAILED, None), made(RAN, EXIT_STOPPED, None)],
    ids=["nothing to do", "the same report", "no report", "stopped"],
)
def test_without_a_new_report_none_is_copied(clone: Path, tmp_path: Path, result: Result) -> None:
    assert copy_report(clone, result, "0123456789", tmp_path / "kept") is None
    assert not (tmp_path / "kept").exists()


def test_results_are_committed_on_a_branch_of_their_own_and_the_clone_stays_at_the_commit(
    source: Path, clone: Path
) -> None:
    head, tested = run_git(source, "symbolic-ref", "HEAD"), resolve_commit(source, "HEAD")
    branch = commit_results(clone, made(RAN), tested, source)
    assert branch == f"scheduled/tiny/{tested[:7]}"
    assert run_git(source, "show", f"{branch}:dvc.lock") == "new"
    assert run_git(source, "diff", "--name-only", tested, branch).splitlines() == ["dvc.lock", REPORT]
    assert run_git(source, "rev-parse", f"{branch}^") == tested == resolve_commit(source, "HEAD")
    assert run_git(source, "symbolic-ref", "HEAD") == head
    assert run_git(source, "status", "--porcelain") == ""
    assert run_git(clone, "diff", "--cached", "--name-only") == ""
    assert check_out(clone, source, tested)
    assert (clone / "dvc.lock").read_text() == "new\n"


def test_a_run_that_failed_or_changed_nothing_is_not_committed(source: Path, clone: Path) -> None:
    tested = resolve_commit(source, "HEAD")
    assert commit_results(clone, made(RAN, EXIT_FAILED), tested, source) is None
    assert commit_results(clone, Result(), tested, source) is None
    run_git(clone, "checkout", "--quiet", "--force", tested)
    assert commit_results(clone, made(RAN), tested, source) is None
    assert "scheduled/" not in run_git(source, "branch")


def test_the_clones_own_code_makes_it_ready_whatever_is_installed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("__init__", "config/__init__", "stages/__init__"):
        (clone / "ebmbench" / f"{module}.py").parent.mkdir(parents=True, exist_ok=True)
        (clone / "ebmbench" / f"{module}.py").touch()
    (clone / "ebmbench/errors.py").write_text("class UserError(Exception): pass\n")
    (clone / "ebmbench/config/params.py").write_text("load_params = str\n")
    (clone / "ebmbench/stages/preparation.py").write_text(
        "from ebmbench.errors import UserError\n"
        "def prepare_workspace(root, params): raise UserError('the clone speaks')\n"
    )
    for name, value in clone_variables(clone, clone.parent).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=r"^the clone speaks$"):
        prepare_clone(clone, None)


def test_the_program_that_prepares_a_clone_calls_functions_that_exist() -> None:
    imported: dict[str, object] = {}
    exec(_PREPARE.partition("try:")[0], imported)
    ((module, function),) = re.findall(r"^    (\w+)\.(\w+)\(Path", _PREPARE, re.MULTILINE)
    assert callable(getattr(imported[module], function))


def test_python_looks_into_the_clone_before_anything_else(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert clone_variables(clone, clone.parent)["PYTHONPATH"] == f"{clone}:/elsewhere"
    monkeypatch.delenv("PYTHONPATH")
    assert clone_variables(clone, clone.parent)["PYTHONPATH"] == str(clone)


def test_the_clone_finds_the_data_that_the_workspace_has(
    source: Path, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EBMBENCH_DATA", raising=False)
    assert "EBMBENCH_DATA" not in clone_variables(clone, source)
    (source / "work/downloads").mkdir()
    assert clone_variables(clone, source)["EBMBENCH_DATA"] == str(source / "work/downloads")
    (clone / "params.yaml").write_text("data: {root: files}\n")
    assert "EBMBENCH_DATA" not in clone_variables(clone, source)
    (source / "files").mkdir()
    assert clone_variables(clone, source)["EBMBENCH_DATA"] == str(source / "files")
    (clone / "params.yaml").write_text("data: {root: /absolute}\n")
    assert "EBMBENCH_DATA" not in clone_variables(clone, source)
    monkeypatch.setenv("EBMBENCH_DATA", "mine")
    assert clone_variables(clone, source)["EBMBENCH_DATA"] == str(source / "mine")
    monkeypatch.setenv("EBMBENCH_DATA", "/absolute")
    assert clone_variables(clone, source)["EBMBENCH_DATA"] == "/absolute"


def test_a_run_that_starts_while_another_is_active_is_cancelled_at_once(source: Path, clone: Path) -> None:
    from pipelines.flows.schedule import scheduled

    (clone / "dvc.lock").write_text("half-way\n")
    with hold_workspace(clone):
        state = scheduled.fn(workspace=str(source))
    assert state.is_cancelled()
    assert "not started: another run is at work in this folder: pid" in str(state.message)
    assert (clone / "dvc.lock").read_text() == "half-way\n"


def test_a_request_that_cannot_be_met_fails_with_the_reason(source: Path) -> None:
    from pipelines.flows.schedule import scheduled

    state = scheduled.fn(workspace=str(source), revision="nowhere")
    assert state.is_failed()
    assert "--revision: found 'nowhere'" in str(state.message)
    state = scheduled.fn(workspace=str(source))
    assert "no dvc.yaml here" in str(state.message)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cron", "0 3 * * *", "--revision", "nowhere"], "--revision: found 'nowhere', allowed: a branch, a tag"),
        (["--cron", "at three"], "--cron 'at three' --timezone UTC: allowed: five fields like '0 3 * * *'"),
        (["--cron", "0 3 * * *", "--timezone", "Mars"], "--timezone Mars: allowed: five fields"),
    ],
)
def test_a_wrong_schedule_is_reported_in_one_line_before_it_starts(source: Path, options: list[str], said: str) -> None:
    command = [sys.executable, "-m", "ebmbench", "serve", *options]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
