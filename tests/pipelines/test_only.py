"""A part of the benchmark run for real by DVC, without Prefect; and what `run` does around the flow."""

import json
from pathlib import Path

import pytest

from ebmbench.workspace.locks import Busy, hold_workspace
from pipelines import benchmark
from pipelines.execution.process import reproduce
from pipelines.execution.queue import drain
from pipelines.outcome import FAILED, RAN, Outcome, Result, conclude
from pipelines.planning.plan import Plan, read_plan

CELL = {"prepare@rings", "train@rings-dsm", "evaluate@rings-dsm", "report"}


@pytest.fixture
def without_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow with stages that DVC is not asked to run: dsm fails, all else is said to have run."""

    def through(root: Path, plan: Plan, jobs: int, keep_going: bool, scheduler: str | None) -> Result:
        print("noise")
        kinds = {stage.name: FAILED if stage.name.startswith("train@rings-dsm") else RAN for stage in plan.todo}
        outcomes = drain(plan, jobs, lambda name, stop: Outcome(kinds[name], cause="told to"), keep_going)
        return conclude(root, plan, outcomes, 1.0, None)

    monkeypatch.setattr(benchmark, "_through_prefect", through)


def test_a_chosen_cell_runs_with_its_data_and_the_report_and_the_rest_stays_stale(workspace: Path) -> None:
    only = ["dsm/rings"]
    outcomes = drain(read_plan(workspace, only), 2, lambda name, stop: reproduce(workspace, name, stop))
    assert {name: outcome.kind for name, outcome in outcomes.items()} == dict.fromkeys(CELL, RAN)
    report = (workspace / "reports/tiny/latest/report.md").read_text()
    assert "runs/tiny/rings/dsm/rows.csv" in report
    assert "nce" not in report
    assert read_plan(workspace, only).todo == ()
    stale = {stage.name for stage in read_plan(workspace).todo}
    assert stale >= {"train@rings-nce", "prepare@two_moons", "report"}
    assert "train@rings-dsm" not in stale


@pytest.mark.usefixtures("without_prefect")
def test_json_is_all_that_stands_on_stdout(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(["--root", str(workspace), "--json", "--only", "/rings", "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert {cell: told["outcome"] for cell, told in record["cells"].items()} == {
        "rings/dsm": "failed",
        "rings/nce": "ran",
    }
    assert record["stages"]["evaluate@rings-dsm"] == {
        "outcome": "blocked",
        "seconds": 0.0,
        "log": None,
        "cause": "train@rings-dsm",
    }
    assert (record["exit_code"], record["only"]) == (1, ["/rings"])
    assert "noise" in printed.err
    assert "failed: train@rings-dsm" in printed.err


@pytest.mark.usefixtures("without_prefect")
def test_fail_fast_reaches_the_queue(workspace: Path) -> None:
    kinds = [
        {name: outcome.kind for name, outcome in benchmark.run(workspace, 1, keep_going=keep_going).stages.items()}
        for keep_going in (True, False)
    ]
    assert [found["report"] for found in kinds] == ["ran", "blocked"]


@pytest.mark.usefixtures("without_prefect")
def test_the_workspace_is_prepared_before_the_plan_and_by_its_holder_alone(done: Path) -> None:
    def prepare() -> None:
        with pytest.raises(Busy), hold_workspace(done):
            pass
        (done / "code/nce.py").write_text("# new\n")

    assert "train@rings-nce" in benchmark.run(done, 1, prepare=prepare).stages
    with hold_workspace(done), pytest.raises(Busy):
        benchmark.run(done, 1, prepare=lambda: pytest.fail("prepared what another run holds"))


def test_a_part_with_nothing_to_do_says_of_what(done: Path) -> None:
    (done / "code/nce.py").write_text("# new\n")
    result = benchmark.run(done, only=["dsm"])
    assert result == Result(report="reports/tiny/latest/report.md", only=("dsm",))
