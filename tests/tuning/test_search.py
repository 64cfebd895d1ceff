"""The search: repeatable to the byte, resumable, equal for all methods, and honest about what failed."""

import math
from pathlib import Path
from typing import Any

import pytest

from ebmbench.cli.main import main
from ebmbench.config.registry import load
from ebmbench.core.dataset import load_facts
from ebmbench.experiment import runs, samples
from ebmbench.experiment.data import open_data
from ebmbench.stages.prepare import prepare
from ebmbench.training.trainer import Diverged, Trainer
from ebmbench.tuning.run import publish
from ebmbench.tuning.space import load_plan
from ebmbench.tuning.trials import Judged, Row, TrialError, Trials, merge_rows, read_table, winner
from ebmbench.workspace.files import read_json
from tests.tuning.conftest import edit, rows_of

REPORTS = ("trials.csv", "report.md", "best-of-n.svg")


def test_a_search_that_was_stopped_goes_on_to_the_same_rows(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Any] = []
    train = runs.train

    def stopping(*arguments: Any, **named: Any) -> None:
        trained.append(arguments[0])
        if len(trained) == 4:
            raise KeyboardInterrupt
        train(*arguments, **named)

    monkeypatch.setattr(runs, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        rows_of(project)
    rows = rows_of(project)
    # Four trials, and two finalists with two seeds and another budget, on two datasets each; one run was begun twice.
    assert len(trained) == 4 * 2 + 2 * 2 * 2 + 1
    assert rows == rows_of(project)


def test_a_space_smaller_than_the_trials_is_tried_whole_and_the_report_says_so(project: Path, untrained: None) -> None:
    edit(project, "walk: 1", "walk: 4")
    plan = load_plan(project)
    rows = rows_of(project, "nce")
    assert len({row.settings for row in rows}) == 4
    publish(plan, rows)
    text = (project / "reports" / "tuning" / "report.md").read_text(encoding="utf-8")
    assert "There are only 4 settings, fewer than 7: all of them were tried." in text


def test_the_finalists_are_the_start_and_the_best_of_the_first_round_and_the_best_of_them_wins(
    project: Path, untrained: None
) -> None:
    rows = rows_of(project)
    assert len({row.value for row in rows}) == len(rows)
    first = sorted((row for row in rows if row.round == 1), key=lambda row: row.value)
    last = [row for row in rows if row.round == 2]
    assert len(first) == 4
    assert {row.trial for row in last} == {0} | {row.trial for row in first[:2]}
    assert winner(rows) == min(last, key=lambda row: row.value)
    assert rows[0].settings == "learning_rate=0.01, sigma=0.2"
    assert [row.proposal for row in rows[:4]] == ["start", "random", "tpe", "walk"]
    assert {(row.round, row.passes, row.seeds) for row in rows} == {(1, 10_000, "1000"), (2, 15_000, "1000 1001")}
    for row in rows:
        assert row.value == pytest.approx(sum(math.log(score or 0) for score in row.scores.values()) / 2)


def test_a_seed_that_fails_is_not_hidden_by_one_that_does_not(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain mean over seeds: 0.001 and 10 count as 5.0005, where a geometric mean would say 0.1."""
    values = {1000: 0.001, 1001: 10.0}
    monkeypatch.setattr(Trials, "judge", lambda self, settings, name, seed, passes: Judged(values[seed], "ok", ""))
    last = [row for row in rows_of(project) if row.round == 2]
    assert len(last) == 2
    for row in last:
        assert list(row.scores.values()) == pytest.approx([5.0005, 5.0005])
        assert row.value == pytest.approx(math.log(5.0005))


def test_a_method_with_a_sampler_of_its_own_is_judged_by_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(
        project,
        "methods:\n",
        "methods:\n  ncsn: {space: {learning_rate: [1.0e-2]}, criterion: {metric: sliced_wasserstein, why: so}}\n",
    )
    run_watched, kinds = samples.run_watched, []

    def recorded(sampler: Any, *rest: Any) -> Any:
        kinds.append(sampler.kind)
        return run_watched(sampler, *rest)

    monkeypatch.setattr(samples, "run_watched", recorded)
    trials = Trials(load_plan(project), "ncsn")
    assert trials.judge(load("methods", "ncsn").Settings(), "two_moons", 1000, 10_000).status == "ok"
    assert kinds == ["annealed_langevin"]


def test_a_setting_that_diverges_is_recorded_and_cannot_win(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Trainer.advance

    def diverging(trainer: Trainer) -> None:
        if trainer.job.settings.learning_rate == 1e-2 and trainer.job.facts.name == "two_moons":
            raise Diverged("the loss is nan")
        advance(trainer)

    monkeypatch.setattr(Trainer, "advance", diverging)
    rows = rows_of(project)
    bad = [row for row in rows if "learning_rate=0.01," in row.settings]
    assert bad
    for row in bad:
        assert (row.round, row.value, row.status, row.scores["two_moons"]) == (1, math.inf, "diverged", None)
        assert row.reason == "two_moons seed=1000: the loss is nan"
        assert row.scores["eight_gaussians"] is not None
    publish(load_plan(project), rows)
    assert read_table(project / "reports" / "tuning" / "trials.csv") == rows


def test_a_criterion_that_cannot_be_had_says_why(project: Path) -> None:
    edit(project, "metric: sliced_wasserstein", "metric: log_z_error")
    rows = rows_of(project)
    assert {(row.status, row.value) for row in rows} == {("unavailable", math.inf)}
    assert rows[0].reason.startswith("two_moons seed=1000: ")
    assert winner(rows) is None
    publish(load_plan(project), rows)
    assert "no finalist ended well" in (project / "reports" / "tuning" / "report.md").read_text(encoding="utf-8")


def test_a_crash_is_reported_with_method_and_settings(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(runs, "train", broken)
    with pytest.raises(TrialError, match=r"dsm, trial 0 \(learning_rate=0.01, sigma=0.2\): RuntimeError: out of luck"):
        rows_of(project)


def test_one_search_that_crashes_leaves_the_others_alone_and_a_repeated_one_writes_the_same_bytes(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each value is valid with the defaults, but the two are not with one another.
    axes = "sampler.sigma_max: [0.1, 2.0], sampler.sigma_min: [0.05, 0.5]"
    start = "{sampler.sigma_max: 0.1, sampler.sigma_min: 0.5}"
    edit(project, "methods:\n", f"methods:\n  ncsn: {{space: {{{axes}}}, start: {start}}}\n")
    monkeypatch.chdir(project)
    assert main(["tune", "ncsn", "nce", "--jobs", "2"]) == 1
    said, warned = capsys.readouterr()
    assert "failed: ncsn, trial 0 (sampler.sigma_max=0.1, sampler.sigma_min=0.5)" in warned
    assert "# nce: " in said
    assert "report: reports/tuning/report.md" in said
    rows = read_table(project / "reports" / "tuning" / "trials.csv")
    assert {row.method for row in rows} == {"nce"}
    first = [row.settings for row in rows if row.round == 1]
    assert len(first) == len(set(first)) == 4
    assert sum(row.round == 2 for row in rows) == 2
    before = [(project / "reports" / "tuning" / name).read_bytes() for name in REPORTS]
    monkeypatch.setattr(runs, "train", None)  # in this process; the first search was in others
    publish(load_plan(project), rows_of(project, "nce"))
    assert [(project / "reports" / "tuning" / name).read_bytes() for name in REPORTS] == before


def test_rows_of_methods_that_were_not_tuned_stay(project: Path) -> None:
    old = [Row("a", 0, 1, "start", "kl", "x=1", {"d": 1.0}, 0.0, "1", "ok", "", 1)]
    new = [Row("b", 0, 1, "start", "kl", "x=2", {"d": 2.0}, 0.7, "1", "ok", "", 1)]
    assert merge_rows(old, new, ["b", "a"]) == [*new, *old]
    assert merge_rows(merge_rows(old, new, ["b", "a"]), old, ["b", "a"]) == [*new, *old]


def test_the_data_are_those_that_the_stage_prepares(project: Path) -> None:
    (project / "params.yaml").write_bytes((project / "suites" / "defaults.yaml").read_bytes())
    prepare(project, "two_moons")
    data = open_data("two_moons", load_plan(project).defaults.datasets["two_moons"], project)
    assert data.facts == load_facts(project / "prepared" / "two_moons")
    assert data.source == read_json(project / "prepared" / "two_moons" / "source.json")


@pytest.mark.parametrize(
    ("words", "message"), [(["mle"], "found no 'mle'"), (["--space", "no.yaml"], "no.yaml: not found")]
)
def test_a_wrong_request_is_one_line_and_exit_code_2(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    monkeypatch.chdir(project)
    assert main(["tune", *words]) == 2
    assert message in capsys.readouterr().err
