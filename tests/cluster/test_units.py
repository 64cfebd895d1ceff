"""The parts of a run on many machines, each alone: real Git and DVC, no Dask, no Prefect."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ebmbench.cli.main import build_parser
from ebmbench.errors import UserError
from pipelines.cluster.download import LOG, Downloader
from pipelines.cluster.job import create_job
from pipelines.cluster.remote import default_remote, require_remote, share_remote
from pipelines.cluster.worker_clone import WorkerClone
from tests.cluster.conftest import IDENTITY, git
from tests.pipelines.conftest import PROJECT
from tests.pipelines.test_lockfile import LOCK


def test_an_error_during_a_download_is_logged_and_its_stage_is_missing(
    done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(lock: Path, entries: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipelines.cluster.download.write_entries", full)
    downloader = Downloader(done)
    downloader.add("train@rings-dsm", "")
    assert downloader.wait(Event()) == ["train@rings-dsm"]
    downloader.close()
    assert "No space left" in (done / LOG).read_text()


@pytest.fixture
def committed(workspace: Path) -> Path:
    git(workspace, "add", "-A")
    git(workspace, *IDENTITY, "commit", "--quiet", "--message", "begin")
    return workspace


def test_a_job_names_the_commit_and_carries_the_present_parameters(committed: Path) -> None:
    (committed / "params.yaml").write_text("benchmark: {suite: edited}\n")
    (committed / "dvc.lock").write_text("schema: '2.0'\n")
    job = create_job(committed)
    assert job.commit == git(committed, "rev-parse", "HEAD")
    assert job.params == "benchmark: {suite: edited}\n"


@pytest.mark.parametrize("path", ["code/dsm.py", "new.py", "code/ä b.py"])
def test_an_edit_that_workers_would_not_see_is_refused(committed: Path, path: str) -> None:
    (committed / path).write_text("# edited\n")
    with pytest.raises(UserError, match=f"^{path}: not committed; workers see commits only"):
        create_job(committed)


def test_a_workers_clone_follows_the_job_and_does_not_keep_the_lock_of_the_commit(
    committed: Path, tmp_path: Path
) -> None:
    (committed / "dvc.lock").write_text("schema: '2.0'\n")
    config = committed / ".dvc/config"
    config.write_text(config.read_text() + "    remote = store\n['remote \"store\"']\n    url = ../../store\n")
    git(committed, "add", "-A")
    git(committed, *IDENTITY, "commit", "--quiet", "--message", "with a lock")
    clone = WorkerClone(tmp_path / "slot", committed)
    clone.check_out(git(committed, "rev-parse", "HEAD"), "benchmark: {}\n")
    assert (clone.root / "params.yaml").read_text() == "benchmark: {}\n"
    assert not (clone.root / "dvc.lock").exists()
    assert default_remote(clone.root) == ("store", str(tmp_path / "store"))
    (clone.root / "dvc.lock").write_text(LOCK)
    clone.check_out(git(committed, "rev-parse", "HEAD"), "benchmark: {suite: other}\n")
    assert (clone.root / "dvc.lock").read_text() == LOCK
    (clone.root / "dvc.lock").write_text("schema: '2.0'\nsta")  # cut short by a power loss
    clone.check_out(git(committed, "rev-parse", "HEAD"), "benchmark: {suite: other}\n")
    assert not (clone.root / "dvc.lock").exists()
    with pytest.raises(UserError, match=r"commit 0000000 is neither in .* nor at its origin"):
        clone.check_out("0" * 40, "")


def test_a_workspace_without_a_remote_is_told_how_to_add_one(committed: Path) -> None:
    with pytest.raises(UserError, match=r"no default DVC remote.*dvc remote add --default"):
        require_remote(committed)


def test_a_remote_without_a_run_cache_is_refused(committed: Path, dvc: Callable[..., str]) -> None:
    dvc(committed, "remote", "add", "--quiet", "--default", "web", "https://example.invalid/store")
    with pytest.raises(UserError, match="HTTP has no run-cache"):
        require_remote(committed)


def test_passwords_reach_a_workers_clone_by_the_file_that_git_ignores(
    committed: Path, tmp_path: Path, dvc: Callable[..., str]
) -> None:
    dvc(committed, "remote", "add", "--quiet", "--local", "--default", "far", "s3://bucket/store")
    dvc(committed, "remote", "modify", "--quiet", "--local", "far", "access_key_id", "key")
    git(tmp_path, "clone", "--quiet", str(committed), "slot")
    share_remote(committed, tmp_path / "slot")
    assert "access_key_id = key" in (tmp_path / "slot/.dvc/config.local").read_text()
    assert default_remote(tmp_path / "slot") == ("far", "s3://bucket/store")


def test_the_commands_of_the_page_on_machines_are_ones_that_there_are() -> None:
    page = (PROJECT / "docs/machines.md").read_text(encoding="utf-8")
    commands = re.findall(r"^ebmbench (.+)$", page, re.MULTILINE)
    assert {command.split()[0] for command in commands} == {"run", "worker"}
    for command in commands:
        build_parser().parse_args(shlex.split(command))
