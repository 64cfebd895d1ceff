"""Two runs in one workspace, as two people start them: real commands, real processes."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.workspace.layout import RUN_LOCK
from tests.pipelines.test_flow import finish, outcomes, start

Before = Callable[[Path, str, str], None]
WaitUntil = Callable[[Callable[[], object], float, str], None]


def holds(root: Path, pid: int) -> bool:
    lock = root / RUN_LOCK
    return lock.exists() and f"pid {pid}," in lock.read_text(encoding="utf-8")


def test_a_second_run_names_the_first_and_both_stop_on_their_signals(
    workspace: Path, wait_until: WaitUntil, processes_in: Callable[[Path], dict[int, str]]
) -> None:
    first = start(workspace, None)  # it plans, then starts a Prefect server: long enough for all of this
    wait_until(lambda: holds(workspace, first.pid), 30, "the first holds the workspace")
    code, out, err = finish(start(workspace, None))
    assert (code, out) == (1, "")
    assert err.startswith(f"error: another run is at work in this folder: pid {first.pid}, started 2")

    waiter = start(workspace, None, "--wait", "--json")
    assert waiter.stderr is not None
    assert f"waiting for another run in this folder: pid {first.pid}" in waiter.stderr.readline()
    os.kill(waiter.pid, signal.SIGINT)
    code, out, err = finish(waiter)
    assert (code, err) == (130, "stopped; run again to go on\n")
    assert '"stopped": "stopped"' in out

    assert first.poll() is None
    os.kill(first.pid, signal.SIGTERM)
    code, out, err = finish(first)
    assert (code, out) == (143, "stopped by SIGTERM; run again to go on\n"), err
    wait_until(lambda: processes_in(workspace) == {}, 10, "no process is left")


@pytest.mark.slow
def test_a_run_that_waits_runs_what_is_stale_once_the_first_has_ended(
    done: Path, api: str, before: Before, wait_until: WaitUntil
) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    before(done, "rings-dsm", "touch begun; while [ ! -e go ]; do sleep 0.1; done")
    first = start(done, api)
    wait_until((done / "begun").exists, 60, "the first runs a stage")
    (done / "code/nce.py").write_text("# new\n")
    second = start(done, api, "--wait")
    assert second.stderr is not None
    assert f"waiting for another run in this folder: pid {first.pid}" in second.stderr.readline()
    (done / "go").touch()
    assert finish(first)[0] == 0
    assert finish(second)[0] == 0
    assert outcomes(done).keys() >= {"train@rings-nce", "train@two_moons-nce"}
    assert "train@rings-dsm" not in outcomes(done)


@pytest.mark.slow
def test_a_run_without_a_reader_and_without_its_work_folder_goes_on_and_lets_no_other_in(
    done: Path, api: str, before: Before, wait_until: WaitUntil
) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    before(done, "rings-dsm", "touch begun; while [ ! -e go ]; do sleep 0.1; done; exit 3")
    first = start(done, api)
    assert first.stdout is not None
    assert first.stderr is not None
    assert first.stderr.readline().startswith("5 stages to bring up to date")
    first.stdout.close()
    first.stderr.close()  # as `2>&1 | head -1` does
    wait_until((done / "begun").exists, 60, "a stage runs")
    shutil.rmtree(done / "work")
    code, _, err = finish(start(done, api))
    assert code == 1
    assert f"another run is at work in this folder: pid {first.pid}" in err
    (done / "go").touch()
    assert first.wait(timeout=120) == 1
    assert outcomes(done) == {
        "train@rings-dsm": "failed",
        "evaluate@rings-dsm": "blocked",
        "train@two_moons-dsm": "ran",
        "evaluate@two_moons-dsm": "ran",
        "report": "ran",
    }
