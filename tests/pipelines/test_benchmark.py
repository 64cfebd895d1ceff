"""`pipelines.benchmark`: a part of the benchmark, `--json`, `--dry-run` and the other options, without Prefect."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.workspace.locks import Busy, hold_workspace
from pipelines import benchmark
from pipelines.benchmark import main
from pipelines.execution.local import Runner
from pipelines.execution.process import reproduce
from pipelines.execution.queue import run_queue
from pipelines.options import add_options
from pipelines.outcome import FAILED, RAN, Forecast, Outcome, Result, conclude, forecast
from pipelines.planning.plan import Plan, make_plan, read_plan

CELL = {"prepare@rings", "train@rings-dsm", "evaluate@rings-dsm", "report"}


@pytest.fixture
def without_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow with stages that DVC is not asked to run: dsm fails, all else is said to have run."""

    def run_flow(root: Path, plan: Plan, _: Runner, jobs: int, keep_going: bool, scheduler: str | None) -> Result:
        print("noise")
        kinds = {stage.name: FAILED if stage.name.startswith("train@rings-dsm") else RAN for stage in plan.todo}
        outcomes = run_queue(plan, jobs, lambda name, stop: Outcome(kinds[name], cause="on purpose"), keep_going)
        return conclude(root, plan, outcomes, 1.0, None)

    monkeypatch.setattr(benchmark, "_run_flow", run_flow)


def test_a_chosen_cell_runs_with_its_data_and_the_report_and_the_rest_stays_stale(workspace: Path) -> None:
    only = ["dsm/rings"]
    outcomes = run_queue(read_plan(workspace, only), 2, lambda name, stop: reproduce(workspace, name, stop))
    assert {name: outcome.kind for name, outcome in outcomes.items()} == dict.fromkeys(CELL, RAN)
    report = (workspace / "reports/tiny/latest/report.md").read_text()
    assert "runs/tiny/rings/dsm/rows.csv" in report
    assert "nce" not in report
    assert read_plan(workspace, only).todo == ()
    stale = {stage.name for stage in read_plan(workspace).todo}
    assert stale >= {"train@rings-nce", "prepare@two_moons", "report"}
    assert "train@rings-dsm" not in stale


@pytest.mark.usefixtures("without_prefect")
def test_json_is_the_only_output_on_stdout(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(["--root", str(workspace), "--json", "--only", "/rings", "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert {cell: outcome["outcome"] for cell, outcome in record["cells"].items()} == {
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
def test_the_workspace_is_prepared_before_planning_and_only_while_it_is_locked(done: Path) -> None:
    def prepare() -> None:
        with pytest.raises(Busy), hold_workspace(done):
            pass
        (done / "code/nce.py").write_text("# new\n")

    assert "train@rings-nce" in benchmark.run(done, 1, prepare=prepare).stages
    with hold_workspace(done), pytest.raises(Busy):
        benchmark.run(done, 1, prepare=lambda: pytest.fail("prepared what another run holds"))


def test_a_selection_with_nothing_to_do_is_named_in_the_result(done: Path) -> None:
    (done / "code/nce.py").write_text("# new\n")
    result = benchmark.run(done, only=["dsm"])
    assert result == Result(report="reports/tiny/latest/report.md", only=("dsm",))


TEXT = """\
train@rings-dsm     code/dsm.py changed
evaluate@rings-dsm  follows train@rings-dsm
report              follows train@rings-dsm and 1 more

would run 3 of 4 chosen stages: 1 train, 1 evaluate, 1 report; up to date: 1
"""


def files(root: Path) -> dict[str, int]:
    """All but what DVC keeps for itself, with the times at which they were written."""
    found = [path for path in root.rglob("*") if not {".dvc", ".git"} & set(path.relative_to(root).parts)]
    return {str(path): path.stat().st_mtime_ns for path in found}


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(words)


def test_a_dry_run_prints_what_would_run_and_why_and_changes_nothing(done: Path) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    before = files(done)
    program = "import sys; from pipelines.benchmark import main; code = main(sys.argv[1:]); "
    program += "sys.exit(code or 'prefect' in sys.modules)"
    command = [sys.executable, "-c", program, "--dry-run", "--only", "dsm/rings", "--root", str(done)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, TEXT, "")
    assert files(done) == before


def test_a_dry_run_for_a_program_has_the_same_reasons(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (done / "code/nce.py").write_text("# new\n")
    assert main(["--root", str(done), "--dry-run", "--json", "--only", "nce/rings"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record.pop("stages") == {
        "train@rings-nce": {"why": "code/nce.py changed"},
        "evaluate@rings-nce": {"why": "follows train@rings-nce"},
        "report": {"why": "follows train@rings-nce and 1 more"},
    }
    assert record == {"dry_run": True, "exit_code": 0, "only": ["nce/rings"], "up_to_date": 1}


def test_without_the_report_the_rest_is_planned_and_the_report_stays_stale(done: Path) -> None:
    (done / "code/dsm.py").write_text("# new\n")
    assert parsed().report
    for only, cells in ([], 2), (["dsm/rings"], 1):
        todo = [stage.name for stage in forecast(done, only, report=parsed("--no-report").report).plan.todo]
        assert "report" not in todo
        assert len(todo) == 2 * cells
    assert "report" in [stage.name for stage in forecast(done).plan.todo]


def test_stale_cells_outside_the_choice_do_not_make_its_report_stale(done: Path) -> None:
    (done / "code/nce.py").write_text("# new\n")
    assert forecast(done, ["dsm"]).text == "nothing to do: dsm is up to date"
    assert "report" in [stage.name for stage in forecast(done).plan.todo]


def test_the_whole_plan_is_not_called_a_choice() -> None:
    text = Forecast(make_plan({"a@x": [], "a@y": [], "b": ["a@x"]}, {"a@x": "never run"})).text
    assert text.splitlines()[-1] == "would run 2 of 3 stages: 1 a, 1 b; up to date: 1"


@pytest.mark.parametrize("mode", [[], ["--dry-run"]])
def test_a_locked_workspace_is_reported_in_one_line_with_the_exit_code_of_a_failure(
    workspace: Path, capsys: pytest.CaptureFixture[str], mode: list[str]
) -> None:
    with hold_workspace(workspace):
        assert main(["--root", str(workspace), *mode]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: another run is at work in this folder: pid ")
    assert printed.err.count("\n") == 1


def test_a_refusal_is_one_json_object_too(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(workspace), "--json", "--only", "dsn"]) == 2
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert record["exit_code"] == 2
    assert "did you mean 'dsm'" in record["error"]
    assert printed.err == f"error: {record['error']}\n"


def test_a_run_keeps_going_by_default_and_does_not_take_both_options() -> None:
    assert parsed().keep_going
    assert parsed("--keep-going").keep_going
    assert not parsed("--fail-fast").keep_going
    with pytest.raises(SystemExit, match="2"):
        parsed("--keep-going", "--fail-fast")


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--jobs", "two"], ["--stop-at-failure"]])
def test_options_that_make_no_sense_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed(*words)


def test_only_may_be_repeated() -> None:
    assert parsed("--only", "dsm", "--only", "/rings").only == ["dsm", "/rings"]
    assert parsed().only == []  # and the one before has not stayed
