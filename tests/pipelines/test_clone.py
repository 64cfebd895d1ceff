"""The clone of a schedule, with real Git: what it holds, what it keeps, and whose folders it leaves alone."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from pipelines.execution.clone import check_out, has_uncommitted_changes, init_clone, resolve_commit

Git = Callable[..., str]


def run_git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def save(root: Path, file: str, text: str) -> str:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", f"{file}: {text}")
    return run_git(root, "rev-parse", "HEAD")


@pytest.fixture
def source(sandbox: Path, tmp_path: Path) -> Path:
    """A repository with a `dvc.lock`, a report and one more file."""
    root = tmp_path / "source"
    root.mkdir()
    run_git(root, "init", "--quiet")
    save(root, "reports/tiny/latest/report.md", "committed\n")
    save(root, "dvc.lock", "committed\n")
    save(root, "params.yaml", "first\n")
    return root


@pytest.fixture
def clone(source: Path, tmp_path: Path) -> Path:
    """A clone of it at the first commit, in which a run has written."""
    folder = tmp_path / "scheduled" / "clone"
    init_clone(folder)
    assert not check_out(folder, source, resolve_commit(source, "HEAD"))
    (folder / "dvc.lock").write_text("written by a run\n")
    (folder / "reports/tiny/latest/report.md").write_text("written by a run\n")
    (folder / "runs").mkdir()
    return folder


def texts(folder: Path) -> dict[str, str]:
    files = ("params.yaml", "dvc.lock", "reports/tiny/latest/report.md")
    return {file: (folder / file).read_text().strip() for file in files}


def test_at_the_same_commit_all_is_as_git_has_it_but_what_runs_write(source: Path, clone: Path) -> None:
    (clone / "params.yaml").write_text("another suite\n")
    assert check_out(clone, source, resolve_commit(source, "HEAD"))
    written = "written by a run"
    assert texts(clone) == {"params.yaml": "first", "dvc.lock": written, "reports/tiny/latest/report.md": written}


def test_another_commit_replaces_all_but_the_clones_own_dvc_lock(source: Path, clone: Path) -> None:
    save(source, "dvc.lock", "of the user's machine\n")
    new = save(source, "params.yaml", "second\n")
    assert not check_out(clone, source, new)
    expected = {"params.yaml": "second", "dvc.lock": "written by a run", "reports/tiny/latest/report.md": "committed"}
    assert texts(clone) == expected
    assert (clone / "runs").is_dir()
    assert run_git(clone, "rev-parse", "HEAD") == new


def test_a_branch_a_tag_and_a_commit_are_looked_up_at_every_run(source: Path, clone: Path) -> None:
    first = run_git(source, "rev-parse", "HEAD")
    run_git(source, "tag", "--annotate", "v1", "--message", "one")
    run_git(source, "branch", "mine")
    run_git(source, "checkout", "--quiet", "mine")
    second = save(source, "params.yaml", "second\n")
    assert resolve_commit(source, "v1") == resolve_commit(source, first[:10]) == first
    assert resolve_commit(source, "mine") == resolve_commit(source, "HEAD") == second


def test_a_commit_that_no_branch_has_can_be_run(source: Path, clone: Path) -> None:
    run_git(source, "checkout", "--quiet", "--detach")
    lone = save(source, "params.yaml", "lone\n")
    run_git(source, "checkout", "--quiet", "-")
    check_out(clone, source, lone)
    assert texts(clone)["params.yaml"] == "lone"


@pytest.mark.parametrize("name", ["nowhere", "--all", ""])
def test_an_unknown_revision_is_refused_with_what_is_allowed(source: Path, name: str) -> None:
    with pytest.raises(UserError, match=f"--revision: found '{name}', allowed: a branch, a tag or a commit"):
        resolve_commit(source, name)


def test_a_folder_that_is_no_repository_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a Git repository"):
        resolve_commit(tmp_path, "HEAD")


def test_what_the_user_has_not_committed_is_neither_in_the_clone_nor_touched(source: Path, clone: Path) -> None:
    assert not has_uncommitted_changes(source)
    (source / "params.yaml").write_text("edited\n")
    assert has_uncommitted_changes(source)
    check_out(clone, source, resolve_commit(source, "HEAD"))
    assert texts(clone)["params.yaml"] == "first"
    assert (source / "params.yaml").read_text() == "edited\n"


def test_a_repository_or_folder_of_somebody_else_is_refused_and_left_as_it_is(source: Path) -> None:
    (source / "params.yaml").write_text("hours of work\n")
    with pytest.raises(UserError, match="a repository that ebmbench did not make"):
        init_clone(source)
    shutil.rmtree(source / ".git")
    with pytest.raises(UserError, match="not empty"):
        init_clone(source)
    assert (source / "params.yaml").read_text() == "hours of work\n"


def test_a_checkout_that_was_killed_does_not_stop_the_next(source: Path, clone: Path) -> None:
    (clone / ".git" / "index.lock").touch()
    check_out(clone, source, save(source, "params.yaml", "second\n"))
    assert texts(clone)["params.yaml"] == "second"


def test_an_error_of_git_is_quoted(source: Path, clone: Path) -> None:
    with pytest.raises(UserError, match=r"git .* failed in .*clone: "):
        check_out(clone, source, "0" * 40)
