"""One flow at a time, and a dead one is no flow."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.workspace.layout import RUN_LOCK
from ebmbench.workspace.locks import Busy, hold, hold_workspace, is_held, require_idle

HOLDER = """
import sys, time
from pathlib import Path
from ebmbench.workspace.locks import hold_workspace
with hold_workspace(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
WAITER = """
import sys
from pathlib import Path
from ebmbench.workspace.locks import hold_workspace
with hold_workspace(Path(sys.argv[1]), wait=True):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def test_a_lock_is_refused_or_waited_for_and_asking_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "a.lock"
    assert not is_held(path)
    assert not path.parent.exists()
    with hold(path):
        assert is_held(path)
        with pytest.raises(UserError, match="somebody else"), hold(path, "somebody else"):
            pass
    assert not is_held(path)
    with hold(path, "free again"):
        pass


def test_a_second_flow_is_refused_and_told_who_holds_the_workspace(tmp_path: Path) -> None:
    refused = pytest.raises(UserError, match=rf"pid {os.getpid()}, started \d{{4}}-")
    with hold_workspace(tmp_path), refused, hold_workspace(tmp_path):
        pass
    with hold_workspace(tmp_path):  # and once the first has ended, it is free
        pass


def test_two_workspaces_do_not_exclude_each_other(tmp_path: Path) -> None:
    with hold_workspace(tmp_path / "a"), hold_workspace(tmp_path / "b"):
        pass


def test_the_lock_of_a_killed_flow_does_not_block_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"pid {holder.pid}"), hold_workspace(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with hold_workspace(tmp_path):
            assert f"pid {os.getpid()}," in (tmp_path / RUN_LOCK).read_text()


def test_who_waits_is_told_once_for_whom_and_then_holds_the_workspace(tmp_path: Path) -> None:
    with hold_workspace(tmp_path):
        waiter = wait_in(tmp_path)
        assert waiter.stderr is not None
        assert f"waiting for another run in this folder: pid {os.getpid()}, started 2" in waiter.stderr.readline()
        assert waiter.poll() is None
    assert waiter.stdout is not None
    assert waiter.stdout.readline() == "mine\n"
    with pytest.raises(UserError, match=f"pid {waiter.pid}"), hold_workspace(tmp_path):
        pass
    assert waiter.communicate("\n", timeout=20) == ("", "")


def test_who_waited_for_a_lock_that_was_removed_still_excludes_others(tmp_path: Path) -> None:
    with hold_workspace(tmp_path):
        waiter = wait_in(tmp_path)
        assert waiter.stderr is not None
        waiter.stderr.readline()
        (tmp_path / RUN_LOCK).unlink()  # what `ebmbench clean --all` does to a clone that it holds
    assert waiter.stdout is not None
    assert waiter.stdout.readline() == "mine\n"
    with pytest.raises(UserError, match=f"pid {waiter.pid}"), hold_workspace(tmp_path):
        pass
    waiter.communicate("\n", timeout=20)


def test_the_lock_outlives_the_folder_that_is_safe_to_delete_and_git_does_not_see_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "work/flow/logs").mkdir(parents=True)
    with hold_workspace(tmp_path):
        shutil.rmtree(tmp_path / "work")
        with pytest.raises(Busy, match=f"pid {os.getpid()}"), hold_workspace(tmp_path):
            pass
        command = ["git", "status", "--porcelain"]
        assert subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout == b""


def test_asking_whether_the_workspace_is_free_neither_takes_it_nor_leaves_a_trace(tmp_path: Path) -> None:
    require_idle(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with hold_workspace(tmp_path):
        before = (tmp_path / RUN_LOCK).read_text()
        with pytest.raises(Busy, match=f"pid {os.getpid()}, .*--wait"):
            require_idle(tmp_path)
        assert (tmp_path / RUN_LOCK).read_text() == before
    require_idle(tmp_path)
    with hold_workspace(tmp_path):
        pass


def wait_in(root: Path) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", WAITER, str(root)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
