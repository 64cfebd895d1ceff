"""Stages in forks: the same files and `dvc.lock` as with `dvc repro`, nothing inherited, nothing left behind."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NoReturn

import pytest

from pipelines.execution import dvc_hooks, fork_server
from pipelines.execution import warm as warm_module
from pipelines.execution.dvc import call_dvc
from pipelines.execution.process import reproduce
from pipelines.execution.warm import FORK, WarmDvc, open_warm_dvc
from pipelines.outcome import FAILED, RAN, RESTORED, SKIPPED, STOPPED
from pipelines.planning.lockfile import LockBuffer, entry_text, entry_texts
from pipelines.planning.plan import read_plan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
Processes = Callable[[Path], dict[int, str]]
STAGE = "train@rings-dsm"

# A package of the name whose stages are forked. It writes down what it has found.
PROBE = """\
import json, os, random, sys, threading, time
import numpy, torch
NUMBER = 1
if os.path.exists("wait"):
    open("begun", "w").close()
    time.sleep(100)
open(sys.argv[1] + ".json", "w").write(json.dumps({
    "argv": sys.argv[1:], "orig_argv": sys.orig_argv[1:], "main": __name__, "number": NUMBER, "folder": os.getcwd(),
    "stage": os.environ["DVC_STAGE"], "extra": os.environ.get("EXTRA"), "parent": os.getppid(),
    "name": open("/proc/self/comm").read().strip(), "threads": len(os.listdir("/proc/self/task")),
    "torch": torch.rand(3).tolist(),
    "random": random.random(), "numpy": float(numpy.random.rand()), "had_torch": "torch" in SEEN,
}))
sys.exit(int(len(sys.argv) > 2))
"""
PIPELINE = """\
stages:
  probe:
    foreach: [a, b]
    do:
      cmd: python -m ebmbench.stages.probe ${item}
      deps: [ebmbench/stages/probe.py]
      outs: ["${item}.json"]
  fails:
    cmd: python -m ebmbench.stages.probe x 2
    outs: [x.json]
"""


@pytest.fixture
def project(sandbox: Path, tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "ebmbench/stages").mkdir(parents=True)
    for folder in ("ebmbench", "ebmbench/stages"):
        (root / folder / "__init__.py").write_text("")
    (root / "ebmbench/stages/__init__.py").write_text("import sys\nLOADED = set(sys.modules)\n")
    text = PROBE.replace("import numpy", "from ebmbench.stages import LOADED as SEEN\nimport numpy")
    (root / "ebmbench/stages/probe.py").write_text(text)
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "params.yaml").write_text("benchmark: {suite: s, datasets: [], methods: []}\n")
    for command in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        subprocess.run(command, cwd=root, check=True)
    return root


@pytest.fixture
def warm(project: Path) -> Iterator[WarmDvc]:
    with open_warm_dvc(project) as warm:
        warm.load_libraries()
        assert warm.is_ready()
        yield warm


def test_a_forked_stage_is_like_a_new_process_but_has_the_libraries(project: Path, warm: WarmDvc) -> None:
    variables = {"EXTRA": "yes"}
    for name in ("a", "b"):
        assert reproduce(project, f"probe@{name}", Event(), variables=variables, warm=warm).kind == RAN
    a, b = (json.loads((project / f"{name}.json").read_text()) for name in ("a", "b"))
    assert a["argv"] == ["a"]
    assert a["orig_argv"] == ["-m", "ebmbench.stages.probe", "a"]
    assert (a["main"], a["folder"], a["stage"], a["extra"]) == ("__main__", str(project), "probe@a", "yes")
    assert (a["name"], a["threads"], a["had_torch"]) == ("probe@a", 1, True)
    for library in ("random", "numpy", "torch"):
        assert a[library] != b[library]


def test_loading_all_libraries_starts_no_thread() -> None:
    names = [*fork_server._DVC, *fork_server._LIBRARIES, *fork_server._RARE]
    program = f"import importlib, os; [importlib.import_module(name) for name in {names}]\n"
    program += "print(len(os.listdir('/proc/self/task')))"
    environment = {**os.environ, **warm_module._THREADS}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"


LEAVING = """\
import atexit, sys, threading, time
FILE = open("a.json", "w")
FILE.write("whole")  # neither flushed nor closed
threading.Thread(target=lambda: (time.sleep(0.5), open("thread", "w").close())).start()
atexit.register(lambda: open("atexit", "w").close())
"""


def test_a_forked_stage_ends_as_a_process_does_and_leaks_no_file_to_its_children(
    project: Path, warm: WarmDvc, wait_until: Callable[..., None]
) -> None:
    probe = project / "ebmbench/stages/probe.py"
    probe.write_text(LEAVING)
    assert reproduce(project, "probe@a", Event(), warm=warm).kind == RAN
    assert (project / "a.json").read_text() == "whole"
    assert (project / "thread").exists()
    assert (project / "atexit").exists()
    # A process that leaves the group holds up nothing, because it has no end of the run's pipes.
    probe.write_text(
        "import subprocess\nleft = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "open('b.json', 'w').write(str(left.pid))\n"
    )
    assert reproduce(project, "probe@b", Event(), warm=warm).kind == RAN
    os.kill(int((project / "b.json").read_text()), signal.SIGKILL)  # it is still there


def test_what_cannot_be_forked_starts_as_a_process(
    project: Path, warm: WarmDvc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reproduce(project, "probe@a", Event(), variables={"EXTRA": "x" * 100_000}, warm=warm).kind == RAN
    monkeypatch.setattr(fork_server, "MESSAGE_BYTES", 10)
    assert reproduce(project, "probe@b", Event(), warm=warm).kind == RAN
    assert not json.loads((project / "b.json").read_text())["had_torch"]


def test_an_edit_between_two_stages_is_seen_by_the_second(project: Path, warm: WarmDvc) -> None:
    assert reproduce(project, "probe@a", Event(), warm=warm).kind == RAN
    file = project / "ebmbench/stages/probe.py"
    file.write_text(file.read_text().replace("NUMBER = 1", "NUMBER = 2"))
    assert reproduce(project, "probe@b", Event(), warm=warm).kind == RAN
    numbers = [json.loads((project / f"{name}.json").read_text())["number"] for name in ("a", "b")]
    assert numbers == [1, 2]


def test_a_stage_that_fails_or_is_stopped_fails_or_is_stopped(
    project: Path, warm: WarmDvc, processes_in: Processes, wait_until: Callable[..., None]
) -> None:
    outcome = reproduce(project, "fails", Event(), warm=warm)
    assert outcome.kind == FAILED
    assert "exited with 1" in (project / outcome.log).read_text()
    (project / "wait").touch()
    stop, others = Event(), set(processes_in(project))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(reproduce, project, "probe@a", stop, warm=warm)
        wait_until((project / "begun").exists, 60, "the stage runs")
        stop.set()
        assert running.result().kind == STOPPED
    assert set(processes_in(project)) <= others
    # The interrupt alone was enough.
    assert "exited with 130" in (project / "work/flow/logs/probe@a.log").read_text()


def test_the_lock_file_is_that_of_dvc_itself(done: Path) -> None:
    def edit_and_run(warm: WarmDvc | None) -> tuple[str, str]:
        (done / "code/dsm.py").write_text("# new\n")
        shutil.rmtree(done / ".dvc/cache/runs")
        kinds = [reproduce(done, name, Event(), warm=warm).kind for name in (STAGE, "evaluate@rings-dsm")]
        assert kinds == [RAN, RAN]
        if warm is not None:
            assert (done / "dvc.lock").read_text() == before  # not yet
            warm.entries.write()
        return (done / "dvc.lock").read_text(), (done / "runs/tiny/rings/dsm/rows.csv").read_text()

    before = (done / "dvc.lock").read_text()
    cold = edit_and_run(None)
    (done / "dvc.lock").write_text(before)
    with open_warm_dvc(done) as warm:
        assert edit_and_run(warm) == cold
    assert cold[0] != before
    assert read_plan(done, [f"{STAGE[-3:]}/rings"]).stages[0].why is None


def test_a_stage_is_skipped_and_restored_as_with_dvc(done: Path) -> None:
    with open_warm_dvc(done) as warm:
        assert reproduce(done, STAGE, Event(), warm=warm).kind == SKIPPED
        shutil.rmtree(done / "runs/tiny/rings/dsm/train")
        lock = done / "dvc.lock"
        lock.write_text(lock.read_text().replace(entry_text(lock, STAGE), ""))
    with open_warm_dvc(done) as warm:
        assert reproduce(done, STAGE, Event(), warm=warm).kind == RESTORED
    assert entry_text(lock, STAGE)
    assert read_plan(done).todo == ()


def test_planning_asks_the_same_dvc(done: Path) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    with open_warm_dvc(done) as warm:
        for words in (("dag", "--dot"), ("status", "--json")):
            assert warm.call(done, words)[:2] == call_dvc(done, words)[:2]
        code, output, errors = warm.call(done, ("repro", "nothing"))
    assert (code, output) == (255, "")
    assert "nothing" in errors


def test_without_forks_stages_start_as_new_processes(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORK, "0")
    (done / "code/dsm.py").write_text("# new\n")
    with open_warm_dvc(done) as warm:
        assert not warm.is_ready()
        assert warm.call(done, ("version",))[0] == 0
        assert reproduce(done, STAGE, Event(), warm=warm).kind == RAN


def _raise(error: Exception) -> NoReturn:
    raise error


def test_a_lock_that_is_held_is_asked_for_more_often_than_dvc_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dvc import lock

    monkeypatch.setattr(lock.Lock, "lock", lock.Lock.lock)
    monkeypatch.setattr(lock, "DEFAULT_TIMEOUT", 0.3)
    dvc_hooks.ask_often_for_locks()
    attempts = []

    def refuse(self: lock.Lock) -> None:
        attempts.append(self)
        if len(attempts) < 10:  # DVC gives up after its seventh
            raise lock.LockError("held")

    monkeypatch.setattr(lock.Lock, "_do_lock", refuse)
    lock.Lock(str(tmp_path / "lock")).lock()
    assert len(attempts) == 10
    attempts.clear()
    monkeypatch.setattr(lock.Lock, "_do_lock", lambda self: _raise(lock.LockError("held")))
    with pytest.raises(lock.LockError):
        lock.Lock(str(tmp_path / "lock")).lock()


def test_another_inside_of_dvc_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from dvc.dvcfile import ProjectFile
    from dvc.output import Output
    from dvc.stage import run

    assert dvc_hooks.find_obstacle() == ""
    with monkeypatch.context() as patch:
        patch.setattr(run, "_run", lambda executable, command: None)
        assert "_run" in dvc_hooks.find_obstacle()
    with monkeypatch.context() as patch:
        patch.delattr(Output, "_get_hash_meta")
        assert "hashes files" in dvc_hooks.find_obstacle()
    with monkeypatch.context() as patch:
        patch.delattr("dvc.lock.Lock._do_lock")
        assert "locks the repository" in dvc_hooks.find_obstacle()
    monkeypatch.delattr(ProjectFile, "_lockfile")
    assert "ProjectFile" in dvc_hooks.find_obstacle()


def test_if_the_process_to_fork_from_is_killed_stages_go_on(
    done: Path, before: Callable[[Path, str, str], None], wait_until: Callable[..., None]
) -> None:
    before(done, "rings-dsm", "touch begun; while [ ! -e go ]; do sleep 0.1; done")
    for method in ("dsm", "nce"):
        (done / f"code/{method}.py").write_text("# new\n")
    with open_warm_dvc(done) as warm, ThreadPoolExecutor() as pool:
        running = pool.submit(reproduce, done, STAGE, Event(), warm=warm)
        wait_until((done / "begun").exists, 60, "the stage runs")
        assert warm._process is not None
        warm._process.send_signal(signal.SIGKILL)
        warm._process.wait()
        assert reproduce(done, "train@rings-nce", Event(), warm=warm).kind == RAN
        (done / "go").touch()
        assert running.result().kind == RAN
    assert {stage.name for stage in read_plan(done).todo} & {STAGE, "train@rings-nce"} == set()


FLOW = """
import sys
from pathlib import Path
from threading import Event
from pipelines.execution.process import reproduce
from pipelines.execution.warm import open_warm_dvc
root = Path(sys.argv[1])
with open_warm_dvc(root) as warm:
    reproduce(root, "train@rings-nce", Event(), warm=warm)
    reproduce(root, "train@rings-dsm", Event(), warm=warm)
"""


def test_kill_9_of_the_flow_leaves_no_process_and_the_next_run_has_the_entries(
    done: Path, before: Callable[[Path, str, str], None], processes_in: Processes, wait_until: Callable[..., None]
) -> None:
    before(done, "rings-dsm", "trap '' INT; touch begun; sleep 100")
    for method in ("dsm", "nce"):
        (done / f"code/{method}.py").write_text("# new\n")
    old = entry_texts(done / "dvc.lock")
    with subprocess.Popen([sys.executable, "-c", FLOW, str(done)], cwd=done.parent) as flow:
        wait_until((done / "begun").exists, 60, "the stage runs")
        flow.send_signal(signal.SIGKILL)
    wait_until(lambda: not processes_in(done), 60, "nothing runs")
    assert entry_texts(done / "dvc.lock") == old
    LockBuffer(done).recover()
    new = entry_texts(done / "dvc.lock")
    assert {name for name in new if new[name] != old[name]} == {"train@rings-nce"}
    assert "train@rings-nce" not in {stage.name for stage in read_plan(done).todo}
    before(done, "rings-dsm", "true")
    with open_warm_dvc(done) as warm:
        assert reproduce(done, STAGE, Event(), warm=warm).kind == RAN  # no lock is left behind


def test_what_a_killed_run_left_is_ignored_if_the_lock_file_is_newer(done: Path) -> None:
    buffer, lock = LockBuffer(done), done / "dvc.lock"
    before = lock.read_text()
    buffer.folder.mkdir(parents=True)
    for age in (-10, 10):
        buffer.file(STAGE).write_text(f"  {STAGE}:\n    cmd: other\n")
        os.utime(buffer.file(STAGE), times=(time.time(), lock.stat().st_mtime + age))
        buffer.recover()
        assert not buffer.file(STAGE).exists()
        assert ("cmd: other" in lock.read_text()) == (age > 0)
    lock.write_text(before)


def test_entries_are_written_together_and_keep_their_places(done: Path) -> None:
    buffer, lock = LockBuffer(done), done / "dvc.lock"
    names = list(entry_texts(lock))
    buffer.folder.mkdir(parents=True)
    chosen = random.Random(0).sample(names, 2)
    for name in (*chosen, "new"):
        buffer.file(name).write_text(f"  {name}:\n    cmd: other\n")
        buffer.take(name)
        assert buffer.read(name) == {"cmd": "other"}
        assert list(entry_texts(lock)) == names
    buffer.write()
    assert list(entry_texts(lock)) == [*names, "new"]
    assert lock.read_text().count("cmd: other") == 3
    assert list(buffer.folder.iterdir()) == []
