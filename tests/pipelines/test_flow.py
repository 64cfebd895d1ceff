"""The real flow, with a real Prefect server, as the user starts it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.execution import guard

slow = pytest.mark.slow  # they need a Prefect server, which takes 10-20 s to start
COMMAND = [sys.executable, "-m", "pipelines.benchmark", "--jobs", "2", "--root"]
Before = Callable[[Path, str, str], None]


def start(root: Path, api: str | None, *options: str) -> "subprocess.Popen[str]":
    env = {**os.environ, "PREFECT_API_URL": api} if api else dict(os.environ)
    command, pipe = [*COMMAND, str(root), *options], subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def finish(flow: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = flow.communicate(timeout=120)
    return flow.returncode, out, err


def latest(api: str, what: str, kind: str = "filter", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = post(f"{api}/{what}/{kind}", limit=50, **more)
    return found


def post(url: str, **body: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)


def wait_for_flow(api: str) -> dict[str, Any]:
    """The flow run that is at work; stages may have started before it."""
    give_up = time.monotonic() + 60
    while True:
        runs = latest(api, "flow_runs", sort="START_TIME_DESC")
        if runs and runs[0]["state_type"] == "RUNNING":
            return runs[0]
        assert time.monotonic() < give_up, "no flow runs"
        time.sleep(0.2)


def outcomes(root: Path) -> dict[str, str]:
    stages = json.loads((root / "work/flow/outcomes.json").read_text())["stages"]
    return {name: outcome["kind"] for name, outcome in stages.items()}


@slow
def test_a_failing_cell_is_named_while_the_rest_and_the_report_run_and_the_next_run_repeats_it(
    done: Path, api: str, before: Before, dvc: Callable[..., str]
) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    before(done, "rings-dsm", "exit 3")
    code, out, err = finish(start(done, api))
    assert code == 1, err
    assert outcomes(done) == {
        "train@rings-dsm": "failed",
        "evaluate@rings-dsm": "blocked",
        "train@two_moons-dsm": "ran",
        "evaluate@two_moons-dsm": "ran",
        "report": "ran",
    }
    assert "failed: train@rings-dsm, see work/flow/logs/train@rings-dsm.log" in out
    assert "report: reports/tiny/latest/report.md" in out
    assert "[5/5] report ran" in err
    assert "Traceback" not in err
    assert err.splitlines()[0] == "starting Prefect, while the first of 5 stages run"
    assert "prefect" not in err.partition("\n")[2].lower()
    _assert_prefect_saw_it(api)

    before(done, "rings-dsm", "true")
    code, out, err = finish(start(done, api))
    assert code == 0, err
    assert outcomes(done)["train@rings-dsm"] == "ran"
    assert "train@two_moons-dsm" not in outcomes(done)
    assert dvc(done, "status", "--json").strip() == "{}"


def _assert_prefect_saw_it(api: str) -> None:
    runs = latest(api, "flow_runs", sort="START_TIME_DESC")
    assert runs[0]["state_type"] == "FAILED"
    assert runs[0]["name"] == "tiny"  # the repository has no commit
    assert "train@rings-dsm.log" in runs[0]["state"]["message"]
    tasks = {run["name"]: run["state_name"] for run in latest(api, "task_runs")}
    assert tasks["train@rings-dsm"] == "Failed"
    assert tasks["evaluate@two_moons-dsm"] == "Ran"
    artifacts = {artifact["key"]: artifact for artifact in latest(api, "artifacts")}
    assert artifacts.keys() >= {"benchmark-progress", "benchmark-stages", "benchmark-cells", "benchmark-report"}
    assert artifacts["benchmark-progress"]["data"] == 100.0
    assert artifacts["benchmark-progress"]["description"] == "5 of 5 stages have ended"
    cells = {(row["dataset"], row["method"]): row for row in json.loads(artifacts["benchmark-cells"]["data"])}
    assert cells["rings", "dsm"]["outcome"] == "failed"
    assert cells["rings", "dsm"]["log"] == "work/flow/logs/train@rings-dsm.log"
    assert cells["two_moons", "dsm"]["outcome"] == "ran"


@slow
@pytest.mark.parametrize(
    ("number", "code", "message"), [(signal.SIGINT, 130, "stopped"), (signal.SIGTERM, 143, "stopped by SIGTERM")]
)
def test_ctrl_c_and_sigterm_stop_the_stages_and_are_recorded_as_cancelled(
    number: signal.Signals,
    code: int,
    message: str,
    done: Path,
    api: str,
    before: Before,
    wait_until: Callable[..., None],
    processes_in: Callable[[Path], dict[int, str]],
) -> None:
    (done / "code/dsm.py").write_text("# newer\n")
    before(done, "rings-dsm", "touch begun; sleep 100")
    flow = start(done, api)
    wait_until((done / "begun").exists, 60, "the stage runs")
    wait_for_flow(api)
    os.killpg(flow.pid, number)  # as a terminal does: to the whole foreground group
    ended, out, err = finish(flow)
    assert (ended, out) == (code, f"{message}; run again to go on\n"), err
    assert "Traceback" not in err
    assert outcomes(done)["train@rings-dsm"] == "stopped"
    assert processes_in(done) == {}
    assert latest(api, "flow_runs", sort="START_TIME_DESC")[0]["state_type"] == "CANCELLED"


@slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_kill_9_leaves_nothing_running_not_even_prefects_server(
    done: Path,
    sandbox: Path,
    before: Before,
    wait_until: Callable[..., None],
    processes_in: Callable[[Path], dict[int, str]],
) -> None:
    (done / "code/dsm.py").write_text("# newest\n")
    before(done, "rings-dsm", "touch begun; sleep 100")
    flow = start(done, api=None)
    wait_until((done / "begun").exists, 120, "the stage runs")
    assert "uvicorn" in " ".join(processes_in(done).values())
    flow.kill()
    flow.communicate()
    wait_until(lambda: not processes_in(done), guard.GRACE_SECONDS + 2, "nothing runs")


VALUE = """
import json, sys
from pipelines.flows.benchmark import benchmark
state = benchmark(sys.argv[1], 2, return_state=True)
given = state.result(raise_on_failure=False)
print(json.dumps([state.type, state.message, getattr(given, "record", given)]))
"""


@slow
def test_the_flow_run_is_a_value_that_carries_the_record_and_leaves_no_file(
    done: Path, api: str, before: Before, tmp_path: Path
) -> None:
    (done / "code/dsm.py").write_text("# other\n")
    storage = tmp_path / "storage"
    env = {**os.environ, "PREFECT_API_URL": api, "PREFECT_LOCAL_STORAGE_PATH": str(storage)}
    command = [sys.executable, "-c", VALUE, str(done)]
    for shell, kind, outcome in (("exit 3", "FAILED", "failed"), ("true", "COMPLETED", "ran")):
        before(done, "rings-dsm", shell)
        answer = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        state, message, record = json.loads(answer.stdout)
        assert state == kind
        assert f" {outcome}" in message
        assert record["cells"]["rings/dsm"]["outcome"] == outcome
        assert record["cells"]["rings/dsm"]["seconds"] > 0
        assert record["report"] == "reports/tiny/latest/report.md"
    assert not storage.exists() or not any(storage.iterdir())


def test_a_run_with_nothing_to_do_ends_in_seconds_and_never_meets_prefect(done: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from pipelines.benchmark import run; "
        "result = run(Path(sys.argv[1])); print(result.message, result.report, 'prefect' in sys.modules, "
        "'torch' in sys.modules)"
    )
    begin = time.monotonic()
    command = [sys.executable, "-c", program, str(done)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout == ("nothing to do: everything is up to date reports/tiny/latest/report.md False False\n")
    assert time.monotonic() - begin < 15


def test_prefect_finds_the_flow_where_a_deployment_would_name_it(sandbox: Path) -> None:
    program = (
        "from prefect.flows import load_flow_from_entrypoint as load; "
        "print(load('pipelines/benchmark.py:benchmark').name)"
    )
    project = Path(guard.__file__).parents[2]
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert answer.stdout == "benchmark\n"
