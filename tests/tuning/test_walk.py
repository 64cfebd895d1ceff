"""The walk: no winner at an edge without a reason, and the same number of trials for all."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ebmbench.cli.main import main
from ebmbench.tuning import run
from ebmbench.tuning.ranges import find_edges
from ebmbench.tuning.report import render_report
from ebmbench.tuning.run import Event, Task, publish, tune
from ebmbench.tuning.search import best_rows, first_round, last_round, next_step, open_ends
from ebmbench.tuning.space import Plan, load_plan
from ebmbench.tuning.trials import Judged, Row, Trials, read_table, winner
from tests.tuning.conftest import edit, rows_of

LIMITED = "sigma: {least: 0.1, most: 0.3, why: so be it}"


def judge_by(monkeypatch: pytest.MonkeyPatch, value: Callable[[Any], float]) -> None:
    """A value that follows from the settings alone; nothing is trained."""
    monkeypatch.setattr(Trials, "judge", lambda self, settings, *rest: Judged(value(settings), "ok", ""))


def open_upwards(project: Path) -> Plan:
    """The range of sigma may go on."""
    edit(project, LIMITED, "sigma: {least: 0.1, why: so be it}")
    edit(project, "most: 8", "most: 20")
    return load_plan(project)


def row(settings: str, value: float = 0.0, trial: int = 0, method: str = "dsm") -> Row:
    return Row(method, trial, 1, "start", "kl", settings, {}, value, "1", "ok", "", 1)


def test_it_goes_beyond_an_end_until_the_next_value_loses(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by(monkeypatch, lambda settings: 1 + abs(math.log(settings.sigma)))
    plan, rows = open_upwards(project), rows_of(project)
    best = winner(rows)
    assert best is not None
    assert best.settings.endswith(", sigma=1.0")  # 0.1, 0.2, 0.3 go on: 0.4, 0.7, 1.0, 1.5
    assert not list(open_ends(plan.grid("dsm"), [row for row in rows if row.round == 1], plan.space.finalists))
    text = render_report(plan, rows)
    assert "sigma=1.0: 1.5 was tried and lost" in text
    assert "- `sigma`: 0.1, 0.2, 0.3; beyond the range: 0.4, 0.7, 1.0, 1.5; at least 0.1: so be it" in text


def test_when_trials_run_out_the_edge_stands_in_plain_sight(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by(monkeypatch, lambda settings: 1 / settings.sigma)
    plan, rows = open_upwards(project), rows_of(project)
    assert sum(row.round == 1 for row in rows) == 20
    assert "**still at the edge:** sigma=" in render_report(plan, rows)


def test_an_edge_that_may_be_one_has_its_reason_in_the_report(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by(monkeypatch, lambda settings: 1 / settings.sigma + settings.learning_rate)
    edit(project, "walk: 1", "walk: 3")
    rows = rows_of(project)
    assert sum(row.round == 1 for row in rows) == 6  # nothing to extend
    assert "learning_rate=0.001: enough; sigma=0.3: so be it" in render_report(load_plan(project), rows)


def test_every_finalist_has_the_values_beyond_its_own_tried(project: Path, untrained: None) -> None:
    """A value that lost with the best setting may win with the second best."""
    edit(project, f", {LIMITED}", "")
    edit(project, "most: 8", "most: 40")
    plan = load_plan(project)
    rows = first_round(plan, "dsm", [], plan.space.trials.least, lambda row: None)
    tried, grid = {row.settings for row in rows}, plan.grid("dsm")
    assert 4 < len(rows) < 40
    edges = [edge for row in best_rows(rows, 2) for edge in find_edges(grid, grid.read(row.settings))]
    assert any(edge.beyond for edge in edges)
    for edge in edges:
        assert edge.why == "enough" or grid.text(edge.beyond or {}) in tried


def test_it_goes_beyond_an_open_end_before_it_goes_beside(project: Path) -> None:
    grid = open_upwards(project).grid("dsm")
    rows = [row("learning_rate=0.01, sigma=0.2"), row("learning_rate=0.01, sigma=0.3", 1.0, trial=1)]
    assert next_step(grid, rows, 2) == {"learning_rate": 1e-2, "sigma": 0.4}
    assert next_step(grid, rows, 1) == {"learning_rate": 1e-3, "sigma": 0.2}


def test_without_an_open_end_it_goes_beside_the_best(project: Path) -> None:
    grid = load_plan(project).grid("dsm")
    rows = [row("learning_rate=0.01, sigma=0.2")]
    assert next_step(grid, rows, 2) == {"learning_rate": 1e-3, "sigma": 0.2}
    rows += [row("learning_rate=0.001, sigma=0.2", math.inf)]
    assert next_step(grid, rows, 2) == {"learning_rate": 1e-2, "sigma": 0.1}


def in_this_process(plan: Plan, tasks: list[Task], jobs: int) -> Iterator[Event]:
    for task in tasks:
        if task.least is None:
            yield Event(task.method, rows=last_round(plan, task.method, task.rows, lambda row: None))
        else:
            yield Event(task.method, rows=first_round(plan, task.method, task.rows, task.least, lambda row: None))


def test_all_methods_get_as_many_trials_as_the_longest_walk(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by(monkeypatch, lambda settings: 1 + abs(math.log(getattr(settings, "sigma", settings.learning_rate))))
    edit(project, '"ratio, inflation": [[1, 1.0], [2, 2.0], [3, 1.0]]', "ratio: [1, 2, 3], inflation: [1.0, 1.5, 2.0]")
    monkeypatch.setattr(run, "perform", in_this_process)
    plan, table = open_upwards(project), project / "reports" / "tuning" / "trials.csv"
    tune(plan, ["dsm", "nce"], 1)
    rows = read_table(table)
    counts = {method: sum(row.method == method and row.round == 1 for row in rows) for method in ("dsm", "nce")}
    assert counts["dsm"] == counts["nce"] > plan.space.trials.least
    assert f"Every method had {counts['dsm']} trials in round 1." in render_report(plan, rows)
    tune(plan, ["nce"], 1)  # alone: as many as the other has in the table
    assert read_table(table) == rows


def test_numbers_of_trials_that_differ_are_said(project: Path) -> None:
    rows = [row("learning_rate=0.01, sigma=0.1"), row("learning_rate=0.01, sigma=0.2", trial=1)]
    rows += [row("ratio=1, inflation=1.0", method="nce")]
    assert "**Numbers of trials differ:** dsm 2, nce 1." in render_report(load_plan(project), rows)


def test_rows_of_an_earlier_space_are_shown_and_not_judged_by_this_one(project: Path) -> None:
    text = render_report(load_plan(project), [row("sigma=0.1"), row("x=1", method="gone")])
    assert text.count("`suites/tuning/space.yaml` no longer has this method, or not with these settings.") == 2


def test_a_space_of_ones_own_leaves_the_published_report_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], untrained: None
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(run, "perform", in_this_process)
    (project / "wide.yaml").write_bytes((project / "suites" / "tuning" / "space.yaml").read_bytes())
    publish(load_plan(project), rows_of(project, "nce"))
    before = {path: path.read_bytes() for path in (project / "reports").rglob("*.*")}
    assert main(["tune", "dsm", "--space", "wide.yaml"]) == 0
    assert "report: work/tuning/wide/report.md" in capsys.readouterr().out
    names = {path.name for path in (project / "work" / "tuning" / "wide").iterdir()}
    assert names == {"trials.csv", "searches.json", "report.md", "best-of-n.svg"}
    assert {path: path.read_bytes() for path in (project / "reports").rglob("*.*")} == before


def section(project: Path, method: str) -> list[str]:
    """What the published page says of a method: its section, and its lines in the tables above."""
    text = (project / "reports" / "tuning" / "report.md").read_text(encoding="utf-8")
    own = text.partition(f"## {method}\n")[2].partition("\n## ")[0]
    return [own, *(line for line in text.splitlines() if line.startswith(f"| {method} |"))]


def test_a_search_of_one_method_by_an_edited_space_changes_nothing_that_is_said_of_another(
    project: Path, untrained: None
) -> None:
    publish(load_plan(project), rows_of(project, "nce"))
    before = section(project, "nce")
    edit(project, "budget: 10_000", "budget: 9_000")
    edit(project, "[3, 1.0]", "[4, 1.0]")
    publish(load_plan(project), rows_of(project, "dsm"))
    assert section(project, "nce") == before
    text = (project / "reports" / "tuning" / "report.md").read_text(encoding="utf-8")
    assert "**Not every method was given the same search.**" in text
    assert "trials of 9,000 passes" in section(project, "dsm")[1]
    publish(load_plan(project), rows_of(project, "nce"))
    assert section(project, "nce") != before
    text = (project / "reports" / "tuning" / "report.md").read_text(encoding="utf-8")
    assert text.count("Every method was given the same search") == 1
