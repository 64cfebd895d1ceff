"""Stages on workers: real Dask, real clones, a real remote."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import IDENTITY, Machines, git

slow = pytest.mark.slow  # they need a Prefect server, a scheduler and workers, which take half a minute to start
CELLS = ("two_moons-dsm", "two_moons-nce", "rings-dsm", "rings-nce")
STAGES = {
    *("prepare@two_moons", "prepare@rings", "report"),
    *(f"{kind}@{cell}" for kind in ("train", "evaluate") for cell in CELLS),
}


@slow
def test_two_workers_run_every_stage_once_and_the_main_workspace_ends_as_if_it_had(
    machines: Machines, done: Path, dvc: Callable[..., str]
) -> None:
    machines.worker("one")
    machines.worker("two")
    ended = machines.run("--json")
    assert ended.returncode == 0, ended.stderr
    assert machines.executions() == dict.fromkeys(STAGES, 1)
    assert dvc(machines.main, "status", "--json").strip() == "{}"
    for kind in ("runs", "reports"):
        assert contents(machines.main / kind) == contents(done / kind)
    record = json.loads(ended.stdout)
    assert {stage["outcome"] for stage in record["stages"].values()} == {"ran"}
    log = (machines.main / record["stages"]["train@rings-dsm"]["log"]).read_text()
    assert log.startswith("worker: ")
    again = machines.run()
    assert "nothing to do" in again.stdout, again.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@slow
def test_a_worker_that_is_killed_costs_nothing_but_time(
    machines: Machines,
    done: Path,
    dvc: Callable[..., str],
    before: Callable[[Path, str, str], None],
    wait_until: Callable[..., None],
    processes_in: Callable[[Path], dict[int, str]],
) -> None:
    for cell in CELLS:  # a training that lasts, so that the kill is in the midst of one
        before(machines.main, cell, f"touch begun-{cell}; sleep 2")
    commit(machines.main)
    machines.worker("one")
    victim = machines.worker("two")
    flow = machines.start()
    slots = machines.folder / "two/work/workers"
    wait_until(lambda: list(slots.glob("*/begun-*")), 120, "the second worker trains")
    victim.kill()
    wait_until(lambda: not processes_in(machines.folder / "two"), 10, "nothing of the killed worker runs")
    assert flow.wait(timeout=300) == 0, (machines.folder / "flow.log").read_text()
    assert dvc(machines.main, "status", "--json").strip() == "{}"
    assert contents(machines.main / "runs") == contents(done / "runs")
    cut_short = [stage for stage, count in machines.executions().items() if count > 1]
    assert len(cut_short) == 1, machines.executions()


@slow
def test_a_cell_that_fails_on_a_worker_leaves_no_old_numbers_behind(
    machines: Machines, before: Callable[[Path, str, str], None]
) -> None:
    machines.worker("one")
    assert machines.run().returncode == 0
    before(machines.main, "rings-dsm", "echo 'error: broken on purpose' >&2; exit 3")
    (machines.main / "code/dsm.py").write_text("# newer\n")
    commit(machines.main)
    ended = machines.run()
    assert ended.returncode == 1
    assert "failed: train@rings-dsm: broken on purpose (log: work/flow/logs/train@rings-dsm.log)" in ended.stdout
    assert not (machines.main / "runs/tiny/rings/dsm/train").exists()
    assert (machines.main / "runs/tiny/two_moons/dsm/train").exists()


@slow
def test_a_lost_scheduler_ends_the_run_in_words(
    machines: Machines, before: Callable[[Path, str, str], None], wait_until: Callable[..., None]
) -> None:
    before(machines.main, "rings-dsm", "touch begun; sleep 1234")
    commit(machines.main)
    machines.worker("one")
    flow = machines.start()
    wait_until(lambda: list(machines.folder.glob("one/work/workers/1/begun")), 120, "the worker trains")
    machines.stop_scheduler()
    assert flow.wait(timeout=180) == 1
    log = (machines.folder / "flow.log").read_text()
    assert "no worker could finish it" in log
    assert "Traceback" not in log
    wait_until(lambda: not sleeping(), 90, "the stage is gone with its worker")


@slow
def test_a_stopped_flow_stops_its_stages_on_the_workers_and_the_next_one_goes_on(
    machines: Machines,
    before: Callable[[Path, str, str], None],
    wait_until: Callable[..., None],
) -> None:
    before(machines.main, "rings-dsm", "touch begun; [ -e ../../../../go ] || sleep 1234")
    commit(machines.main)
    machines.worker("one")
    for number in (signal.SIGINT, signal.SIGKILL):
        slot = machines.folder / "one/work/workers/1"
        flow = machines.start("--only", "dsm/rings")
        wait_until((slot / "begun").exists, 120, "the stage runs on the worker")
        os.kill(flow.pid, number)
        flow.wait(timeout=60)
        wait_until(lambda: not sleeping(), 10, "the stage is gone")
        (slot / "begun").unlink()
    (machines.folder / "go").touch()
    ended = machines.run("--only", "dsm/rings")
    assert ended.returncode == 0, ended.stderr


@slow
def test_a_cell_that_asks_for_a_gpu_runs_where_there_is_one(
    machines: Machines, before: Callable[[Path, str, str], None]
) -> None:
    params = machines.main / "params.yaml"
    params.write_text(params.read_text() + "resources: {nce: {gpu: 1}}\n")
    for cell in CELLS:
        before(machines.main, cell, f'echo "{cell} sees <$CUDA_VISIBLE_DEVICES>"; sleep 1')
    commit(machines.main)
    machines.worker("plain", CUDA_VISIBLE_DEVICES="")
    machines.worker("gifted", CUDA_VISIBLE_DEVICES="7")
    ended = machines.run()
    assert ended.returncode == 0, ended.stderr
    for cell in CELLS:
        log = (machines.main / f"work/flow/logs/train@{cell}.log").read_text()
        if cell.endswith("nce"):
            assert f"{cell} sees <7>" in log
        else:
            assert f"{cell} sees <" in log


@slow
def test_what_workers_could_not_see_is_refused_in_one_line(machines: Machines) -> None:
    (machines.main / "code/dsm.py").write_text("# an edit\n")
    (machines.main / "new.py").touch()
    refused = machines.run()
    assert refused.returncode == 2
    assert refused.stderr.strip().splitlines()[-1].startswith("error: code/dsm.py, new.py: not committed")
    assert "Traceback" not in refused.stderr


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, *IDENTITY, "commit", "--quiet", "--message", "change")


def sleeping() -> list[str]:
    """Commands `sleep 1234`, which only these tests start."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(entry)] if entry.read_bytes() == b"sleep\x001234\x00" else []
        except OSError:  # it ended while we looked
            continue
    return found
