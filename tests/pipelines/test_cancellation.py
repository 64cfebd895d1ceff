"""A run is cancelled from Prefect, however it was started; with `prefect server start`, as a user has it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ebmbench.workspace.locks import hold_workspace
from pipelines.execution import guard
from pipelines.execution.process import start_guarded
from pipelines.flows.server import _free_port, _wait_until_healthy
from tests.pipelines.test_flow import finish, latest, outcomes, post, start, wait_for_flow

pytestmark = pytest.mark.slow  # they need a Prefect server, which takes 10-20 s to start
SECONDS = 10.0  # until nothing runs: to notice (2), to stop gently (3), to record
Before = Callable[[Path, str, str], None]
Processes = Callable[[Path], dict[int, str]]

SERVED = """
import sys
from pipelines.benchmark import benchmark
benchmark.serve(name="served", parameters={"root": sys.argv[1], "jobs": 2}, print_starting_message=False)
"""
WORKED = """
import os, subprocess, sys
from pathlib import Path
from prefect import flow
prefect = [sys.executable, "-m", "prefect"]
subprocess.run([*prefect, "work-pool", "create", "here", "--type", "process"], check=True)
benchmark = flow.from_source(source=str(Path.cwd()), entrypoint="pipelines/benchmark.py:benchmark")
benchmark.deploy(name="worked", work_pool_name="here", parameters={"root": sys.argv[1], "jobs": 2})
os.execv(prefect[0], [*prefect, "worker", "start", "--pool", "here"])
"""


@pytest.fixture(scope="module")
def api(sandbox: Path) -> Iterator[str]:
    port, log = _free_port(), sandbox / "server.log"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with start_guarded(command, log, sandbox, dict(os.environ)) as process:
        _wait_until_healthy(process, port, log)
        yield f"http://127.0.0.1:{port}/api"


@pytest.fixture
def stuck(done: Path, before: Before) -> Path:
    """A workspace in which a stage would train for long and does not heed Ctrl-C."""
    (done / "code/dsm.py").write_text("# new\n")
    before(done, "rings-dsm", "trap '' INT; touch begun; sleep 100")
    return done


def cancel(api: str) -> dict[str, Any]:
    """What the button in the user interface does."""
    run = wait_for_flow(api)
    answer = post(f"{api}/flow_runs/{run['id']}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    assert answer["status"] == "ACCEPT"
    return run


def state_of(api: str, run: dict[str, Any]) -> str:
    found = latest(api, "flow_runs", flow_runs={"id": {"any_": [run["id"]]}})
    return str(found[0]["state_type"])


def test_a_run_in_a_terminal_ends_within_seconds_and_says_where_it_was_cancelled(
    stuck: Path, api: str, wait_until: Callable[..., None], processes_in: Processes, before: Before
) -> None:
    flow = start(stuck, api, "--json")
    wait_until((stuck / "begun").exists, 60, "the stage runs")
    run, begin = cancel(api), time.monotonic()
    code, out, err = finish(flow)
    assert time.monotonic() - begin < SECONDS
    assert processes_in(stuck) == {}
    assert code == 130, err
    assert "cancelled in Prefect; run again to go on" in err
    assert "Traceback" not in err
    record = json.loads(out)
    assert (record["exit_code"], record["stopped"]) == (130, "cancelled in Prefect")
    assert record["stages"]["train@rings-dsm"]["outcome"] == "stopped"
    assert state_of(api, run) == "CANCELLED"
    cells = next(one for one in latest(api, "artifacts", sort="CREATED_DESC") if one["key"] == "benchmark-cells")
    rows = {(row["dataset"], row["method"]): row["outcome"] for row in json.loads(cells["data"])}
    assert rows[("rings", "dsm")] == "stopped"

    before(stuck, "rings-dsm", "true")
    assert finish(start(stuck, api))[0] == 0


@pytest.mark.parametrize(("program", "name"), [(SERVED, "served"), (WORKED, "worked")], ids=["served", "worker"])
def test_a_run_that_prefect_started_leaves_nothing_running_and_a_workspace_that_can_go_on(
    program: str,
    name: str,
    stuck: Path,
    api: str,
    wait_until: Callable[..., None],
    processes_in: Processes,
    dvc: Callable[..., str],
) -> None:
    project = Path(guard.__file__).parents[2]
    often = {"PREFECT_RUNNER_POLL_FREQUENCY": "1", "PREFECT_WORKER_QUERY_SECONDS": "1"}
    env = {**os.environ, **often, "PREFECT_API_URL": api}
    with subprocess.Popen([sys.executable, "-c", program, str(stuck)], cwd=project, env=env) as server:
        try:
            wait_until(lambda: _deployment(api, name), 120, "Prefect knows the flow")
            post(f"{api}/deployments/{_deployment(api, name)}/create_flow_run", state={"type": "SCHEDULED"})
            wait_until((stuck / "begun").exists, 90, "the stage runs")
            run = cancel(api)
            wait_until(lambda: not processes_in(stuck), SECONDS, "nothing runs")
            wait_until(lambda: state_of(api, run) == "CANCELLED", SECONDS, "Prefect says so")
        finally:
            server.terminate()
    with hold_workspace(stuck):
        assert "train@rings-dsm" in dvc(stuck, "status", "--json")
    assert outcomes(stuck)["train@rings-dsm"] == "stopped"


def _deployment(api: str, name: str) -> str | None:
    found = [one["id"] for one in latest(api, "deployments") if one["name"] == name]
    return found[0] if found else None


def test_a_server_that_dies_does_not_end_the_run(
    done: Path, sandbox: Path, before: Before, wait_until: Callable[..., None]
) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    before(done, "rings-dsm", "touch begun; while [ ! -e go ]; do sleep 0.1; done")
    port, log = _free_port(), sandbox / "dying.log"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with start_guarded(command, log, sandbox, dict(os.environ)) as process:
        _wait_until_healthy(process, port, log)
        flow = start(done, f"http://127.0.0.1:{port}/api")
        wait_until((done / "begun").exists, 60, "the stage runs")
        wait_for_flow(f"http://127.0.0.1:{port}/api")
    time.sleep(5)  # it asks twice whether it was cancelled
    assert flow.poll() is None
    (done / "go").touch()
    code, out, err = finish(flow)
    assert code == 0, err
    assert "the run goes on without it" in err
    assert "report: reports/tiny/latest/report.md" in out
