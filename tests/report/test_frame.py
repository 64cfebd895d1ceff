"""Which rows get into `results.csv`, in which order, and what is said of cells that have none."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ebmbench.errors import UserError
from ebmbench.report.results.frame import collect
from ebmbench.report.results.table import COLUMNS, load_results, write_results
from ebmbench.workspace.failures import note_failure
from tests.report.suite import remove_outputs, write_records

Params = dict[str, Any]


def spoil(file: Path, **changes: object) -> None:
    """Change some keys of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes), encoding="utf-8")


def state(root: Path, params: Params, dataset: str, method: str) -> tuple[set[str], str]:
    """The statuses of a cell's rows and the first reason."""
    frame = collect(root, params)
    rows = frame[(frame["dataset"] == dataset) & (frame["method"] == method)]
    return set(rows["status"]), str(rows["reason"].iloc[0])


def test_rows_come_in_the_order_of_the_suite_with_baselines_first(root: Path, params: Params) -> None:
    frame = collect(root, params)
    keys = frame[["dataset", "method", "settings"]].drop_duplicates().itertuples(index=False, name=None)
    swept = [("eight_gaussians", "adance", "interval=5"), ("eight_gaussians", "adance", "interval=10")]
    plain = [(name, "") for name in ("oracle", "gaussian", "mle")]
    expected = [("eight_gaussians", *one) for one in plain] + swept + [("eight_gaussians", "ncsn", "")]
    expected += [("two_moons", *one) for one in plain] + [("two_moons", "adance", ""), ("two_moons", "ncsn", "")]
    assert list(keys) == expected


def test_a_failed_cell_is_one_row_with_the_reason_of_the_flow(root: Path, params: Params) -> None:
    frame = collect(root, params)
    rows = frame[frame["status"] == "failed"]
    assert len(rows) == 1
    assert rows["reason"].item() == "`train@two_moons-adance`: out of memory | at step 7"
    assert rows[["seed", "value"]].isna().all(axis=None)


def test_a_cell_without_train_gives_no_old_numbers(root: Path, params: Params) -> None:
    shutil.rmtree(root / "runs/tiny/two_moons/mle/train")
    assert state(root, params, "two_moons", "mle") == ({"failed"}, "not trained: no runs in `train/`")


@pytest.mark.parametrize(
    "stage",
    ["sample@two_moons-mle", "prepare@two_moons"],
)
def test_a_cell_whose_upstream_failed_gives_no_old_numbers(root: Path, params: Params, stage: str) -> None:
    remove_outputs(root, stage)
    note_failure(root, "tiny", stage, "no space")
    assert state(root, params, "two_moons", "mle") == ({"failed"}, f"`{stage}`: no space")


@pytest.mark.parametrize("method", ["mle", "_baselines"])
def test_a_cell_that_was_never_tried_tells_why_there_are_no_data(root: Path, params: Params, method: str) -> None:
    note_failure(root, "tiny", "prepare@two_moons", "no files")
    shutil.rmtree(root / "runs/tiny/two_moons" / method)
    assert "no files" not in state(root, params, "two_moons", method)[1]  # an old note: the data are there
    remove_outputs(root, "prepare@two_moons")
    assert state(root, params, "two_moons", method) == ({"failed"}, "`prepare@two_moons`: no files")


def test_a_cell_without_metrics_failed_after_training(root: Path, params: Params) -> None:
    (root / "runs/tiny/two_moons/mle/metrics.json").unlink()
    statuses, reason = state(root, params, "two_moons", "mle")
    assert statuses == {"failed"}
    assert "not evaluated" in reason


def test_another_digest_in_train_makes_the_cell_stale(root: Path, params: Params) -> None:
    spoil(root / "runs/tiny/eight_gaussians/mle/train/seed=2/status.json", digest="beef")
    statuses, reason = state(root, params, "eight_gaussians", "mle")
    assert statuses == {"stale"}
    assert "(seed=2)" in reason


def test_a_run_that_was_trained_but_not_evaluated_makes_the_cell_stale(root: Path, params: Params) -> None:
    train = root / "runs/tiny/eight_gaussians/mle/train"
    shutil.copytree(train / "seed=2", train / "seed=3")
    statuses, reason = state(root, params, "eight_gaussians", "mle")
    assert statuses == {"stale"}
    assert "(seed=3)" in reason


def test_a_skipped_run_is_listed_though_nothing_was_evaluated(root: Path, params: Params) -> None:
    train = root / "runs/tiny/eight_gaussians/mle/train"
    shutil.copytree(train / "seed=2", train / "seed=3")
    spoil(train / "seed=3/status.json", status="skipped", reason="needs labels", seed=3, digest="beef")
    write_records(root, params)
    frame = collect(root, params)
    rows = frame[frame["status"] == "skipped"]
    assert rows[["method", "seed", "reason", "metric"]].values.tolist() == [["mle", 3, "needs labels", ""]]


def test_missing_baselines_do_not_stop_the_report(root: Path, params: Params) -> None:
    (root / "runs/tiny/two_moons/_baselines/rows.csv").unlink()
    assert state(root, params, "two_moons", "_baselines") == ({"failed"}, "no `rows.csv`")


@pytest.mark.parametrize("method", ["mle", "_baselines"])
def test_a_cell_that_was_never_made_is_not_run_unless_a_note_says_that_it_failed(
    root: Path, params: Params, method: str
) -> None:
    shutil.rmtree(root / "runs/tiny/two_moons" / method)
    assert state(root, params, "two_moons", method) == ({"not run"}, "`ebmbench run` makes it")
    note_failure(root, "tiny", "features@two_moons", "no labels")
    (root / "features/two_moons.record.json").unlink()
    assert state(root, params, "two_moons", method) == ({"failed"}, "`features@two_moons`: no labels")


def test_costs_and_steps_stand_beside_every_run(root: Path, params: Params) -> None:
    frame = collect(root, params)
    run = frame[(frame["method"] == "mle") & (frame["dataset"] == "two_moons") & (frame["seed"] == 1)]
    assert set(run["steps"]) == {120}
    assert set(run["seconds_train"]) == set(run["seconds_evaluate"]) == {3.0}
    assert set(run["peak_memory_mb"]) == {151.0}


def test_results_read_back_as_they_were_written(root: Path, params: Params) -> None:
    frame = collect(root, params)
    write_results(frame, root / "results.csv")
    back = load_results(root / "results.csv")
    assert list(back.columns) == list(COLUMNS)
    assert back.equals(frame)
    assert (back["value"].dtype, back["seed"].dtype) == (np.float64, "Int64")


def test_a_digest_of_digits_stays_text(root: Path, params: Params) -> None:
    frame = collect(root, params)
    frame.loc[0, "digest"] = "00012e5"
    write_results(frame, root / "results.csv")
    assert load_results(root / "results.csv").loc[0, "digest"] == "00012e5"


def test_results_are_found_from_the_projects_folder(
    report: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(report, tmp_path / "reports/tiny/latest")
    (tmp_path / "params.yaml").write_text("benchmark: {suite: tiny}\n")
    monkeypatch.chdir(tmp_path)
    assert load_results().equals(load_results(report))


def test_results_that_are_not_there_are_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not found"):
        load_results(tmp_path / "results.csv")
