"""Commands that end when they should, and stages as DVC runs them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import yaml

from ebmbench.workspace.failures import failure_of
from pipelines.execution import guard
from pipelines.execution.process import last_error, reproduce, run_guarded
from pipelines.execution.queue import run_queue
from pipelines.outcome import FAILED, RAN, RESTORED, SKIPPED, STOPPED, Outcome, Result
from pipelines.planning.plan import read_plan
from tests.pipelines.test_dvc import note_lock

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
Processes = Callable[[Path], dict[int, str]]
Before = Callable[[Path, str, str], None]

# A flow in small: it starts a stage, and is then killed.
FLOW = """
import sys
from pathlib import Path
from threading import Event
from pipelines.execution.process import reproduce
reproduce(Path(sys.argv[1]), "train@rings-dsm", Event())
"""


def sh(root: Path, shell: str, stop: Event | None = None) -> int | None:
    return run_guarded(["/bin/sh", "-c", shell], root / "log", root, stop or Event())


def test_output_and_exit_code_of_a_command_are_kept(tmp_path: Path) -> None:
    assert sh(tmp_path, "echo out; echo err >&2; exit 7") == 7
    assert (tmp_path / "log").read_text() == "out\nerr\n"


def test_a_stage_gets_one_thread_and_this_python(tmp_path: Path) -> None:
    assert sh(tmp_path, "echo $OMP_NUM_THREADS $MKL_NUM_THREADS; command -v python") == 0
    assert (tmp_path / "log").read_text().split() == ["1", "1", str(Path(sys.executable).parent / "python")]


def test_a_stage_runs_whatever_the_shell_of_the_account_is(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/false")  # as `nologin`, and every system has it
    (done / "code/nce.py").write_text("# new\n")
    assert reproduce(done, "train@rings-nce", Event()).kind == RAN


def test_a_stages_own_error_message_is_quoted_and_a_traceback_is_not() -> None:
    dvc = "ERROR: failed to reproduce 'prepare@mnist'"
    error = last_error(f"Running stage 'prepare@mnist':\nwarning: slow\nerror: mnist: no files\n{dvc}\n")
    assert error == "mnist: no files"
    assert last_error(f"Traceback (most recent call last):\nValueError: error: no\n{dvc}\n") is None
    stages = {"a": Outcome(FAILED, log="a.log", cause=error), "b": Outcome(FAILED, log="b.log")}
    assert Result(stages).message.splitlines()[1:] == [
        "failed: a: mnist: no files (log: a.log)",
        "failed: b, see b.log",
    ]


@linux
def test_what_a_command_leaves_in_the_background_ends_with_it(tmp_path: Path, processes_in: Processes) -> None:
    assert sh(tmp_path, "sleep 100 & exit 0") == 0
    assert processes_in(tmp_path) == {}


@linux
def test_a_command_that_will_not_stop_is_killed_with_its_children(
    tmp_path: Path, processes_in: Processes, wait_until: Callable[..., None]
) -> None:
    stop = Event()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sh, tmp_path, "trap '' INT TERM; sleep 300 & touch begun; sleep 300; touch ended", stop)
        wait_until((tmp_path / "begun").exists, 60, "it runs")
        stop.set()
        assert running.result() is None
    assert not (tmp_path / "ended").exists()
    wait_until(lambda: not processes_in(tmp_path), 60, "nothing runs")


def test_a_command_is_asked_to_stop_and_killed_when_its_grace_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[object] = []
    monkeypatch.setattr(guard, "_signal_group", lambda group, number: events.append((group, number)))
    monkeypatch.setattr(guard.time, "sleep", events.append)
    closed, starters = os.pipe()
    os.close(starters)
    with os.fdopen(closed):
        guard._stop_when_closed(closed, 7)
    assert events == [(7, signal.SIGINT), guard.GRACE_SECONDS, (7, signal.SIGKILL)]


# As DVC does it: a file is written in place, while the lock is held.
WRITER = """
import fcntl, sys, time
with open(".dvc/tmp/lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open("dvc.lock", "w") as file:
        print("half", file=file, flush=True)
        time.sleep(float(sys.argv[1]))
        print("whole", file=file, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize(("seconds", "text"), [(1.0, "half\nwhole\n"), (100, "half\n")])
def test_dvc_is_not_stopped_while_it_writes_unless_it_takes_for_ever(
    tmp_path: Path, wait_until: Callable[..., None], seconds: float, text: str
) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / ".dvc/tmp/lock").touch()
    stop = Event()
    with ThreadPoolExecutor() as pool:
        command = [sys.executable, "-c", WRITER, str(seconds)]
        running = pool.submit(run_guarded, command, tmp_path / "log", tmp_path, stop)
        written = tmp_path / "dvc.lock"
        wait_until(lambda: written.exists() and written.read_text() == "half\n", 60, "it writes")
        stop.set()
        assert running.result() is None
    assert written.read_text() == text


@linux
def test_kill_9_of_the_flow_leaves_neither_dvc_nor_its_command(
    done: Path, before: Before, processes_in: Processes, wait_until: Callable[..., None]
) -> None:
    before(done, "rings-dsm", "trap '' INT; touch begun; sleep 100")
    (done / "code/dsm.py").write_text("# new\n")
    with subprocess.Popen([sys.executable, "-c", FLOW, str(done)], cwd=done.parent) as flow:
        wait_until((done / "begun").exists, 60, "the stage runs")
        commands = " ".join(processes_in(done).values())
        assert "dvc --wait-for-lock repro" in commands
        assert "sleep 100" in commands
        flow.send_signal(signal.SIGKILL)
    wait_until(lambda: not processes_in(done), 60, "nothing runs")
    before(done, "rings-dsm", "true")
    assert reproduce(done, "train@rings-dsm", Event()).kind == RAN  # no lock is left behind


def test_a_stage_runs_then_is_skipped_then_is_restored_from_the_run_cache(done: Path) -> None:
    code, old = done / "code/nce.py", (done / "code/nce.py").read_text()
    code.write_text("# new\n")
    kinds = [reproduce(done, "train@rings-nce", Event()).kind for _ in range(2)]
    code.write_text(old)
    outcome = reproduce(done, "train@rings-nce", Event())
    assert [*kinds, outcome.kind] == [RAN, SKIPPED, RESTORED]
    assert (done / "runs/tiny/rings/nce/train/model").read_text().endswith(old)
    assert outcome.log == "work/flow/logs/train@rings-nce.log"
    assert outcome.seconds > 0


def test_a_failing_stage_fails_at_once_and_its_log_says_why(done: Path, before: Before) -> None:
    # The stage's own words about locks must not be taken for DVC's.
    before(done, "rings-dsm", "echo ERROR: Unable to acquire lock; echo the disk is full; exit 3")
    (done / "code/dsm.py").write_text("# new\n")
    outcome = reproduce(done, "train@rings-dsm", Event())
    assert outcome.kind == FAILED
    log = (done / str(outcome.log)).read_text()
    assert log.count("the disk is full\n") == 1
    assert failure_of(done, "tiny", "train@rings-dsm") == f"see {outcome.log}"  # the report must not say "not run"


@pytest.mark.parametrize(("end", "kind"), [("true", RAN), ("exit 3", FAILED)])
def test_a_stage_whose_log_was_deleted_under_it_ends_as_it_ends_and_a_failure_says_so(
    done: Path, before: Before, end: str, kind: str
) -> None:
    before(done, "rings-dsm", f"rm -r work; {end}")
    (done / "code/dsm.py").write_text("# new\n")
    outcome = reproduce(done, "train@rings-dsm", Event())
    assert outcome.kind == kind
    assert (outcome.cause or "").startswith("its log is gone: work/ was deleted" if kind == FAILED else "")


def test_a_stage_that_another_dvc_holds_is_tried_again_until_it_is_free(
    done: Path, before: Before, wait_until: Callable[..., None]
) -> None:
    before(
        done, "rings-dsm", "touch begun; while [ ! -e go ] && ! grep -q busy work/flow/logs/*.log; do sleep 0.1; done"
    )
    command = [sys.executable, "-m", "dvc", "repro", "--quiet", "--force", "--single-item", "train@rings-dsm"]
    with subprocess.Popen(command, cwd=done):
        try:
            wait_until((done / "begun").exists, 60, "the other dvc trains")
            outcome = reproduce(done, "train@rings-dsm", Event())
        finally:
            (done / "go").touch()
    assert outcome.kind == SKIPPED
    assert "is busy" in (done / str(outcome.log)).read_text()


def test_a_stage_is_not_held_up_by_the_lock_of_a_dead_process_whose_number_another_has(done: Path) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    note_lock(done, "write", os.getpid(), "/usr/bin/dvc repro")
    outcome = reproduce(done, "train@rings-dsm", Event())
    assert outcome.kind == RAN
    assert (done / str(outcome.log)).read_text().count("is busy") == 1


def test_a_stopped_stage_leaves_a_state_from_which_the_next_run_goes_on(
    done: Path, before: Before, wait_until: Callable[..., None]
) -> None:
    before(done, "rings-dsm", "touch begun; sleep 100")
    (done / "code/dsm.py").write_text("# new\n")
    stop = Event()
    with ThreadPoolExecutor() as pool:
        stage = pool.submit(reproduce, done, "train@rings-dsm", stop)
        wait_until((done / "begun").exists, 60, "the stage runs")
        stop.set()
        assert stage.result().kind == STOPPED
    before(done, "rings-dsm", "true")
    assert {stage.name for stage in read_plan(done).todo} >= {"train@rings-dsm", "evaluate@rings-dsm"}
    assert reproduce(done, "train@rings-dsm", Event()).kind == RAN


def test_stages_in_parallel_leave_the_same_lock_file_as_dvc_alone(
    workspace: Path, done: Path, dvc: Callable[..., str]
) -> None:
    outcomes = run_queue(read_plan(workspace), 4, lambda name, stop: reproduce(workspace, name, stop))
    assert {outcome.kind for outcome in outcomes.values()} == {RAN}
    assert dvc(workspace, "status", "--json").strip() == "{}"
    locks = [yaml.safe_load((root / "dvc.lock").read_text()) for root in (workspace, done)]
    assert locks[0] == locks[1]
    assert read_plan(workspace).todo == ()
