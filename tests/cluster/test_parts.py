"""What a run on many machines is made of, each part alone: real Git and DVC, no Dask, no Prefect."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ebmbench.cli.main import parser
from ebmbench.errors import UserError
from pipelines.cluster.gather import LOG, Gathering
from pipelines.cluster.remote import default_remote, require_remote, share_remote
from pipelines.cluster.slot import Slot
from pipelines.cluster.state import errand_of
from pipelines.planning.lockfile import entry_of, outputs_of, put
from tests.cluster.conftest import IDENTITY, git
from tests.pipelines.conftest import PROJECT

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
    assert entry_of(lock, "train@rings-dsm2") == '  train@rings-dsm2:\n    cmd: "true"\n'
    assert entry_of(lock, "never@there") == ""
    assert outputs_of(lock, "prepare@rings") == ["data/rings"]
    assert outputs_of(lock, "train@rings-dsm") == []


def test_an_entry_takes_the_place_of_the_one_that_was_there(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text(LOCK)
    new = "  train@rings-dsm:\n    cmd: other\n"
    put(lock, {"train@rings-dsm": new})
    head, rest = LOCK.split("  train@rings-dsm:\n")
    assert lock.read_text() == head + rest[rest.index("  train@rings-dsm2") :] + new


def test_a_lock_is_made_where_there_is_none_and_never_left_without_stages(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    put(lock, {"a": "  a:\n    cmd: b\n"})
    assert lock.read_text() == "schema: '2.0'\nstages:\n  a:\n    cmd: b\n"
    put(lock, {"a": ""})
    assert not lock.exists()


def test_dvc_takes_an_entry_that_was_put_for_its_own(done: Path, dvc: Callable[..., str]) -> None:
    lock = done / "dvc.lock"
    entry = entry_of(lock, "train@rings-dsm")
    put(lock, {"train@rings-dsm": ""})
    assert "train@rings-dsm" in dvc(done, "status", "--json")
    put(lock, {"train@rings-dsm": entry})
    assert dvc(done, "status", "--json").strip() == "{}"


def test_what_goes_wrong_while_gathering_is_told(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(lock: Path, entries: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipelines.cluster.gather.put", full)
    gathering = Gathering(done)
    gathering.add("train@rings-dsm", "")
    assert gathering.arrived(Event()) == ["train@rings-dsm"]
    gathering.close()
    assert "No space left" in (done / LOG).read_text()


@pytest.fixture
def committed(workspace: Path) -> Path:
    git(workspace, "add", "-A")
    git(workspace, *IDENTITY, "commit", "--quiet", "--message", "begin")
    return workspace


def test_an_errand_names_the_commit_and_carries_the_parameters_as_they_stand(committed: Path) -> None:
    (committed / "params.yaml").write_text("benchmark: {suite: edited}\n")
    (committed / "dvc.lock").write_text("schema: '2.0'\n")
    errand = errand_of(committed)
    assert errand.commit == git(committed, "rev-parse", "HEAD")
    assert errand.params == "benchmark: {suite: edited}\n"


@pytest.mark.parametrize(
    ("path", "told"), [("code/dsm.py", "code/dsm.py"), ("new.py", "new.py"), ("code/ä b.py", "code/ä b.py")]
)
def test_an_edit_that_workers_would_not_see_is_refused(committed: Path, path: str, told: str) -> None:
    (committed / path).write_text("# edited\n")
    with pytest.raises(UserError, match=f"^{told}: not committed; workers see commits only"):
        errand_of(committed)


def test_a_slot_follows_the_errand_and_keeps_no_lock_of_the_commit(committed: Path, tmp_path: Path) -> None:
    (committed / "dvc.lock").write_text("schema: '2.0'\n")
    config = committed / ".dvc/config"
    config.write_text(config.read_text() + "    remote = store\n['remote \"store\"']\n    url = ../../store\n")
    git(committed, "add", "-A")
    git(committed, *IDENTITY, "commit", "--quiet", "--message", "with a lock")
    slot = Slot(tmp_path / "slot", committed)
    slot.adopt(git(committed, "rev-parse", "HEAD"), "benchmark: {}\n")
    assert (slot.root / "params.yaml").read_text() == "benchmark: {}\n"
    assert not (slot.root / "dvc.lock").exists()
    assert default_remote(slot.root) == ("store", str(tmp_path / "store"))
    (slot.root / "dvc.lock").write_text(LOCK)
    slot.adopt(git(committed, "rev-parse", "HEAD"), "benchmark: {suite: other}\n")
    assert (slot.root / "dvc.lock").read_text() == LOCK
    (slot.root / "dvc.lock").write_text("schema: '2.0'\nsta")  # cut short by a power loss
    slot.adopt(git(committed, "rev-parse", "HEAD"), "benchmark: {suite: other}\n")
    assert not (slot.root / "dvc.lock").exists()
    with pytest.raises(UserError, match=r"commit 0000000 is neither in .* nor at its origin"):
        slot.adopt("0" * 40, "")


def test_a_workspace_without_a_remote_is_told_how_to_add_one(committed: Path) -> None:
    with pytest.raises(UserError, match=r"no default DVC remote.*dvc remote add --default"):
        require_remote(committed)


def test_a_remote_without_a_run_cache_is_refused(committed: Path, dvc: Callable[..., str]) -> None:
    dvc(committed, "remote", "add", "--quiet", "--default", "web", "https://example.invalid/store")
    with pytest.raises(UserError, match="HTTP has no run-cache"):
        require_remote(committed)


def test_passwords_reach_a_slot_by_the_file_that_git_ignores(
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
        parser().parse_args(shlex.split(command))
