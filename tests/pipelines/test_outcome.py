"""What a run ends with, for a person, for a program and for the next command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.execution.signals import BY_SIGTERM, BY_USER, IN_PREFECT
from pipelines.outcome import (
    BLOCKED,
    FAILED,
    RAN,
    RESTORED,
    SKIPPED,
    STOPPED,
    Outcome,
    Result,
    conclude,
    read_result,
    worst_by_cell,
    write_result,
)
from pipelines.planning.plan import Plan, make_plan

CELLS = {"rings-dsm": "rings/dsm", "rings-nce": "rings/nce"}
GRAPH = {
    "prepare@rings": [],
    "train@rings-dsm": ["prepare@rings"],
    "evaluate@rings-dsm": ["train@rings-dsm"],
    "train@rings-nce": ["prepare@rings"],
    "report": ["evaluate@rings-dsm", "train@rings-nce"],
}
FAILURE = Outcome(FAILED, seconds=1.5, log="work/flow/logs/train@rings-nce.log", cause="too hot")
FAILED_STAGE = {"outcome": "failed", "seconds": 1.5, "log": "work/flow/logs/train@rings-nce.log", "cause": "too hot"}
RAN_CELL = {"outcome": "ran", "seconds": 2.0, "log": "a.log", "cause": None}  # of two stages


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text("benchmark: {suite: tiny, datasets: [rings], methods: [dsm, nce]}\n")
    return tmp_path


def plan() -> Plan:
    return make_plan({name: list(ups) for name, ups in GRAPH.items()}, dict.fromkeys(GRAPH, "never run"))


@pytest.mark.parametrize(
    ("first", "second", "worst"),
    [
        (SKIPPED, RESTORED, RESTORED),
        (RESTORED, RAN, RAN),
        (RAN, STOPPED, STOPPED),
        (STOPPED, BLOCKED, BLOCKED),
        (BLOCKED, FAILED, FAILED),
    ],
)
def test_a_cell_is_as_bad_as_its_worst_stage_in_whatever_order(first: str, second: str, worst: str) -> None:
    for one, other in ((first, second), (second, first)):
        stages = {"train@rings-dsm": Outcome(one), "evaluate@rings-dsm": Outcome(other)}
        assert worst_by_cell(stages, CELLS) == {"rings/dsm": Outcome(worst)}


def test_shared_stages_belong_to_no_cell() -> None:
    assert worst_by_cell({"prepare@rings": Outcome(FAILED), "report": Outcome(RAN)}, CELLS) == {}


def test_a_cell_that_was_stopped_half_way_does_not_count_as_done(root: Path) -> None:
    settled = {"prepare@rings": Outcome(RAN), "train@rings-dsm": Outcome(RAN)}
    result = conclude(root, plan(), settled, 2.0, BY_USER)
    assert (result.exit_code, result.message) == (130, "stopped; run again to go on")
    assert result.stages["evaluate@rings-dsm"].kind == STOPPED
    assert result.cells == {"rings/dsm": Outcome(STOPPED), "rings/nce": Outcome(STOPPED)}


@pytest.mark.parametrize(("stopped", "code"), [(BY_USER, 130), (IN_PREFECT, 130), (BY_SIGTERM, 143)])
def test_a_stopped_run_has_its_own_message_and_exit_code(root: Path, stopped: str, code: int) -> None:
    result = conclude(root, plan(), dict.fromkeys(GRAPH, Outcome(RAN)), 2.0, stopped)
    assert (result.exit_code, result.record["stopped"]) == (code, stopped)
    assert result.message == f"{stopped}; run again to go on"


def test_a_saved_result_is_read_back_unchanged(root: Path) -> None:
    stages, cells = {"report": Outcome(RAN)}, {"rings/dsm": FAILURE}
    result = Result(stages=stages, cells=cells, only=("dsm", "/rings"), exit_code=130, stopped=IN_PREFECT)
    result = replace(result, standings=({"dataset": "rings", "line": "dsm/rings KL 0.1, 1st of 2"},))
    write_result(root, result)
    assert read_result(root) == result


def test_the_record_has_the_whole_run(root: Path) -> None:
    report = root / "reports/tiny/latest/report.md"
    report.parent.mkdir(parents=True)
    report.touch()
    settled = dict.fromkeys(GRAPH, Outcome(RAN, seconds=1.0, log="a.log")) | {"train@rings-nce": FAILURE}
    record = json.loads(json.dumps(conclude(root, plan(), settled, 2.0004, None).record))
    assert record.pop("stages")["train@rings-nce"] == FAILED_STAGE
    assert record == {
        "exit_code": 1,
        "seconds": 2.0,
        "only": [],
        "stopped": None,
        "cells": {"rings/dsm": RAN_CELL, "rings/nce": FAILED_STAGE},
        "report": "reports/tiny/latest/report.md",
        "standings": [],
        "since": None,
        "comparison": None,
    }


def test_a_draft_is_said_to_stand_beside_the_latest_report() -> None:
    lines = Result(report="reports/tiny/draft/report.md").text.splitlines()
    assert lines[1] == "report: reports/tiny/draft/report.md (partial or edited: reports/tiny/latest stays as it was)"
    assert (
        Result(report="reports/tiny/latest/report.md").text.splitlines()[1] == "report: reports/tiny/latest/report.md"
    )


def test_the_end_of_a_run_has_a_line_for_each_cell_before_the_path_of_the_report_but_not_hundreds() -> None:
    stages = {"report": Outcome(RAN)}
    cells = tuple({"line": f"dsm/set_{number} KL 0.1, 1st of 2"} for number in range(22))
    lines = Result(stages, report="report.md", standings=cells[:2], since="since 0.1.0").text.splitlines()
    assert lines == ["1 ran in 0 s", cells[0]["line"], cells[1]["line"], "report: report.md", "since 0.1.0"]
    assert Result(stages, standings=cells[:20]).text.splitlines()[-1] == cells[19]["line"]
    many = Result(stages, standings=cells)
    assert many.text.splitlines()[-2:] == [cells[19]["line"], "and 2 more"]
    assert len(many.record["standings"]) == 22


def test_a_run_without_the_report_names_none(root: Path) -> None:
    (root / "reports/tiny/latest").mkdir(parents=True)
    (root / "reports/tiny/latest/report.md").touch()
    cells = {name: list(ups) for name, ups in GRAPH.items() if name != "report"}
    short = make_plan(cells, dict.fromkeys(cells, "never run"))
    done = dict.fromkeys(GRAPH, Outcome(RAN))
    assert conclude(root, short, done, 1.0, None).report is None
    assert conclude(root, plan(), done, 1.0, None).report == "reports/tiny/latest/report.md"


def test_the_message_names_the_part_that_is_up_to_date() -> None:
    assert Result(only=("dsm", "/rings")).message == "nothing to do: dsm /rings is up to date"
