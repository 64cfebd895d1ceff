"""How much runs at once, and which GPU each job sees."""

import threading
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ebmbench.errors import UserError
from pipelines.execution.local import VISIBLE, GpuPool, LocalRunner, visible_gpus
from pipelines.execution.queue import run_queue
from pipelines.outcome import RAN, Outcome
from pipelines.planning.plan import Plan, Stage, read_plan
from pipelines.planning.resources import Capacity, read_gpu_requests

PLAN = Plan(tuple(Stage(name, (), "never run", gpus) for name, gpus in {"a": 1, "b": 1, "c": 1, "d": 0}.items()))


@pytest.mark.parametrize(
    ("gpus", "running", "admitted"),
    [(0, [], True), (0, [0, 0], False), (1, [0], True), (1, [1], False), (0, [1], True)],
)
def test_a_stage_is_admitted_if_a_job_and_a_gpu_are_free(gpus: int, running: list[int], admitted: bool) -> None:
    assert Capacity(jobs=2, gpus=1).fits(gpus, running) is admitted


def test_stages_that_want_gpus_wait_for_one_while_others_pass_them() -> None:
    together: list[frozenset[str]] = []
    running: set[str] = set()
    lock = threading.Lock()

    def run_stage(name: str, stop: Event) -> Outcome:
        with lock:
            running.add(name)
            together.append(frozenset(running))
        stop.wait(0.05)
        with lock:
            running.discard(name)
        return Outcome(RAN)

    run_queue(PLAN, lambda: Capacity(4, 1), run_stage)
    assert max(len(names - {"d"}) for names in together) == 1
    assert {"a", "d"} in together


def test_machines_that_come_later_are_used() -> None:
    rooms = iter([Capacity(0)] * 2)
    outcomes = run_queue(PLAN, lambda: next(rooms, Capacity(4, 3)), lambda name, stop: Outcome(RAN))
    assert {outcome.kind for outcome in outcomes.values()} == {RAN}
    assert len(outcomes) == 4


def test_cells_ask_by_the_patterns_of_only(workspace: Path) -> None:
    params = workspace / "params.yaml"
    params.write_text(params.read_text() + "resources: {nce/rings: {gpu: 1}, /two_moons: {gpu: 1}, '*': {gpu: 0}}\n")
    cells = {"rings-nce", "two_moons-dsm", "two_moons-nce"}
    expected = {f"{kind}@{cell}": 1 for kind in ("train", "sample", "evaluate") for cell in cells}
    assert read_gpu_requests(workspace) == expected
    asked = {stage.name: stage.gpus for stage in read_plan(workspace).todo}
    assert (asked["train@rings-nce"], asked["train@rings-dsm"], asked["report"]) == (1, 0, 0)


def test_a_pattern_that_names_no_cell_is_refused_with_file_and_key(workspace: Path) -> None:
    params = workspace / "params.yaml"
    params.write_text(params.read_text() + "resources: {nse: {gpu: 1}}\n")
    with pytest.raises(UserError, match=r"params.yaml: resources.nse: methods: found 'nse', .*did you mean 'nce'"):
        read_gpu_requests(workspace)


def test_asking_for_resources_makes_nothing_stale(done: Path) -> None:
    params = done / "params.yaml"
    params.write_text(params.read_text() + "resources: {nce: {gpu: 1}}\n")
    assert read_plan(done).todo == ()


@pytest.mark.parametrize(
    ("named", "found"),
    [("0,1", ["0", "1"]), ("", []), ("-1", []), ("GPU-5a, GPU-6b", ["GPU-5a", "GPU-6b"])],
)
def test_gpus_are_those_that_cuda_would_see(monkeypatch: pytest.MonkeyPatch, named: str, found: list[str]) -> None:
    monkeypatch.setenv(VISIBLE, named)
    assert visible_gpus() == found


def test_nvidias_tool_is_asked_if_no_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: One (UUID: GPU-1)'\necho 'GPU 1: Two (UUID: GPU-2)'\n")
    tool.chmod(0o755)
    assert visible_gpus() == ["0", "1"]


def test_a_gpu_is_lent_to_one_job_at_a_time_and_comes_back() -> None:
    devices, go, stopped = GpuPool(["3", "5"]), Event(), Event()
    stopped.set()
    with devices.lend(1, go) as first, devices.lend(1, go) as second, devices.lend(0, go) as none:
        assert first is not None
        assert second is not None
        assert {first[VISIBLE], second[VISIBLE]} == {"3", "5"}
        assert none == {VISIBLE: ""}
    with GpuPool([]).lend(0, go) as untouched:
        assert untouched == {}
    with pytest.raises(RuntimeError), devices.lend(2, go):
        raise RuntimeError("a job that fails gives its GPUs back too")
    with devices.lend(2, go) as both, devices.lend(1, stopped) as nothing:
        assert nothing is None  # not waited for when the run is stopped
        assert both is not None
        assert set(both[VISIBLE].split(",")) == {"3", "5"}


def test_two_jobs_on_one_machine_see_a_gpu_each(
    done: Path, monkeypatch: pytest.MonkeyPatch, before: Callable[[Path, str, str], None]
) -> None:
    monkeypatch.setenv(VISIBLE, "3,5")
    params = done / "params.yaml"
    params.write_text(params.read_text() + "resources: {dsm: {gpu: 1}}\n")
    (done / "code/dsm.py").write_text("# newer\n")
    for cell, other in (("rings-dsm", "two_moons-dsm"), ("two_moons-dsm", "rings-dsm")):
        wait = f"n=0; until [ -e begun-{other} ] || [ $n = 300 ]; do sleep 0.1; n=$((n+1)); done"
        before(done, cell, f'touch begun-{cell}; {wait}; echo "$CUDA_VISIBLE_DEVICES" > seen-{cell}')
    local = LocalRunner(done, plan := read_plan(done), jobs=2)
    outcomes = run_queue(plan, local.capacity, local.run)
    assert all(outcome.good for outcome in outcomes.values()), outcomes
    assert {(done / f"seen-{cell}").read_text().strip() for cell in ("rings-dsm", "two_moons-dsm")} == {"3", "5"}


def test_a_machine_without_a_gpu_says_so_before_anything_runs(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "")
    with pytest.raises(UserError, match="resources: a asks for 1 GPU, found 0 on this machine"):
        LocalRunner(done, PLAN, jobs=2)
