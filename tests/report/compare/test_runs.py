"""Runs that ended otherwise: by status, and by verdict where both reports judge their runs."""

import pandas as pd
import pytest

from ebmbench.report.compare.changes import compare_runs, has_verdicts
from ebmbench.report.results.table import to_frame


def frame(statuses: list[str], verdicts: list[str] | None = None, metrics: int = 2) -> pd.DataFrame:
    """Runs of one method, seed by seed, with some metrics each; without verdicts it is an old report."""
    place = {"suite": "s", "dataset": "d", "method": "mle"}
    runs = [place | {"seed": str(seed), "label": f"seed={seed}", "status": one} for seed, one in enumerate(statuses)]
    rows = to_frame([run | {"metric": f"m{number}"} for run in runs for number in range(metrics)])
    rows = rows.drop(columns=[name for name in ("verdict", "verdict_reason") if name in rows])
    return rows if verdicts is None else rows.assign(verdict=[one for one in verdicts for _ in range(metrics)])


def failed(word: str, judged: bool = False) -> pd.DataFrame:
    """A cell without runs: one row, neither seed nor label."""
    rows = to_frame([{"suite": "s", "dataset": "d", "method": "mle", "status": word}])
    return rows.assign(verdict=word) if judged else rows


OK = ["ok", "ok", "ok"]


def test_a_run_that_diverged_since_is_named() -> None:
    before, after = frame(OK), frame(["ok", "ok", "diverged"])
    assert compare_runs(before, after) == [("d", "mle", "ok", "2/3 ok, 1/3 diverged", "seed 2: ok → diverged")]
    assert compare_runs(before, before) == []


def test_two_runs_that_change_places_are_named_though_their_number_is_the_same() -> None:
    (one,) = compare_runs(frame(["ok", "diverged"]), frame(["diverged", "ok"]))
    assert one.before == one.after == "1/2 ok, 1/2 diverged"
    assert one.runs == "seed 0: ok → diverged, seed 1: diverged → ok"


def test_a_verdict_that_changed_is_told_where_the_status_did_not() -> None:
    before, after = frame(OK, ["ok", "unmixed", "ok"]), frame(OK, ["ok", "ok", "short-run-only"])
    (one,) = compare_runs(before, after)
    assert (one.before, one.after) == ("2/3 ok, 1/3 unmixed", "2/3 ok, 1/3 short-run-only")
    assert one.runs == "seed 1: unmixed → ok, seed 2: ok → short-run-only"
    assert compare_runs(after, after) == []


@pytest.mark.parametrize("old", [frame(OK), frame(OK, ["", "", ""]), frame(OK).assign(verdict=None)])
def test_a_report_without_verdicts_is_compared_by_status_alone(old: pd.DataFrame) -> None:
    new = frame(OK, ["unmixed", "unmixed", "miscalibrated"])
    assert not has_verdicts(old)
    assert compare_runs(old, new) == compare_runs(new, old) == []
    (one,) = compare_runs(old, frame(["ok", "ok", "diverged"], ["ok", "unmixed", "diverged"]))
    assert one.after == "2/3 ok, 1/3 diverged"


def test_a_run_without_a_verdict_of_its_own_keeps_its_status() -> None:
    assert compare_runs(frame(OK, ["", "ok", "ok"]), frame(OK, ["ok", "ok", "ok"])) == []


@pytest.mark.parametrize("judged", [False, True])
def test_a_cell_that_failed_since_is_told_without_runs(judged: bool) -> None:
    before = frame(OK, OK if judged else None)
    assert compare_runs(before, failed("failed", judged)) == [("d", "mle", "ok", "failed", "")]
    assert compare_runs(failed("failed", judged), before) == [("d", "mle", "failed", "ok", "")]


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("word", ["stale", "not run"])
def test_a_cell_that_nobody_asked_for_did_not_end_otherwise(word: str, judged: bool) -> None:
    before = frame(OK, OK if judged else None)
    assert compare_runs(before, failed(word, judged)) == compare_runs(failed(word, judged), before) == []


def test_a_method_that_only_one_side_has_is_no_change() -> None:
    assert compare_runs(frame(OK), frame(["diverged"]).assign(method="nce")) == []
