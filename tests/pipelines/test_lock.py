"""One flow at a time, and a dead one is no flow."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.core.errors import UserError
from pipelines.lock import only_flow

HOLDER = """
import sys, time
from pathlib import Path
from pipelines.lock import only_flow
with only_flow(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_flow_is_refused_and_told_who_holds_the_workspace(tmp_path: Path) -> None:
    refused = pytest.raises(UserError, match=rf"pid {os.getpid()}, started \d{{4}}-")
    with only_flow(tmp_path), refused, only_flow(tmp_path):
        pass
    with only_flow(tmp_path):  # and once the first has ended, it is free
        pass


def test_two_workspaces_do_not_exclude_each_other(tmp_path: Path) -> None:
    with only_flow(tmp_path / "a"), only_flow(tmp_path / "b"):
        pass


def test_the_lock_of_a_killed_flow_does_not_block_the_next(sandbox: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"pid {holder.pid}"), only_flow(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with only_flow(tmp_path):
            assert f"pid {os.getpid()}," in (tmp_path / "work/flow/lock").read_text()
