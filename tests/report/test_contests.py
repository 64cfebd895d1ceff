"""Who is ranked against whom: kinds never mixed, the same tasks for all, runs without a value last."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.statistics.contests import Contest, find_contests
from tests.report.fixtures import Params

INF = float("inf")


def row(dataset: str, name: str, seed: int | None, value: float | None, **other: str) -> dict[str, object]:
    method, _, settings = name.partition(" ")
    shared = {"dataset": dataset, "method": method, "settings": settings, "seed": seed, "value": value}
    told = {"status": "ok", "verdict": "", "metric": "kl", "samples": "", "direction": "lower", "label": str(seed)}
    return shared | told | other


def frame_of(*rows: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    return frame.astype({"seed": "Int64", "value": "float64"})


def runs(dataset: str, name: str, *values: float | None, **other: str) -> list[dict[str, object]]:
    return [row(dataset, name, seed, value, **other) for seed, value in enumerate(values)]


def only(frame: pd.DataFrame) -> Contest:
    (found,) = find_contests(Results(frame))
    return found


def column(contest: Contest, name: str) -> list[list[float]]:
    return [[float(value) for value in task] for task in contest.losses[:, :, contest.names.index(name)]]


def test_losses_are_by_task_and_seed_and_methods_stand_by_mean_rank() -> None:
    one = only(
        frame_of(*runs("a", "cd", 3, 4), *runs("a", "mle", 1, 2), *runs("b", "cd", 7, 8), *runs("b", "mle", 5, 6))
    )
    assert (one.datasets, one.names, one.absent) == (["a", "b"], ["mle", "cd"], {})
    assert one.losses.tolist() == [[[1, 3], [2, 4]], [[5, 7], [6, 8]]]


def test_a_suite_is_ranked_by_its_first_metric_and_larger_may_be_better() -> None:
    shared = {"metric": "log_likelihood", "direction": "higher"}
    frame = frame_of(*runs("a", "mle", 9, 9), *runs("a", "cd", 9, 9), *runs("a", "cd", -1, -2, **shared))
    frame = pd.concat([frame, frame_of(*runs("a", "mle", -3, -4, **shared))], ignore_index=True)
    (one,) = find_contests(Results(frame, {"benchmark": {"metrics": ["log_likelihood", "kl"]}}))
    assert (one.title, one.names, column(one, "cd")) == ("log-likelihood", ["cd", "mle"], [[1, 2]])


def test_baselines_do_not_compete_and_nobody_is_better_than_the_oracle() -> None:
    one = only(frame_of(*runs("a", "oracle", 2, 4), *runs("a", "mle", 1, 5), *runs("a", "cd", 2, 3)))
    assert sorted(one.names) == ["cd", "mle"]
    assert (column(one, "mle"), column(one, "cd")) == ([[3, 5]], [[3, 3]])


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_who_lost_all_runs_on_one_task_is_last_there(status: str) -> None:
    lost = runs("b", "mle", None, None, status=status)
    one = only(frame_of(*runs("a", "mle", 1, 1), *runs("a", "cd", 2, 2), *lost, *runs("b", "cd", 9, 9)))
    assert column(one, "mle") == [[1, 1], [INF, INF]]


def test_a_single_run_without_a_value_is_last() -> None:
    one = only(frame_of(*runs("a", "mle", 1, None), *runs("a", "cd", 2, 2)))
    assert column(one, "mle") == [[1, INF]]


def test_who_has_no_value_for_want_of_calibration_is_last_and_not_absent() -> None:
    lost = runs("b", "mle", None, None, verdict="miscalibrated")
    one = only(frame_of(*runs("a", "mle", 1, 1), *runs("a", "cd", 2, 2), *lost, *runs("b", "cd", 9, 9)))
    assert (one.absent, column(one, "mle")) == ({}, [[1, 1], [INF, INF]])


def test_a_failed_cell_of_a_sweep_is_last_in_all_its_rows_and_adds_none() -> None:
    swept = [*runs("a", "cd k=1", 1, 1), *runs("a", "cd k=2", 2, 2)]
    cell = row("b", "cd", None, None, status="failed", metric="")
    one = only(frame_of(*swept, *runs("a", "mle", 3, 3), cell, *runs("b", "mle", 3, 3)))
    assert sorted(one.names) == ["cd k=1", "cd k=2", "mle"]
    assert column(one, "cd k=2") == [[2, 2], [INF, INF]]


def test_a_method_that_is_swept_on_one_dataset_only_is_another_method_there() -> None:
    one = only(
        frame_of(*runs("a", "cd k=1", 1, 1), *runs("a", "mle", 3, 3), *runs("b", "cd", 1, 1), *runs("b", "mle", 3, 3))
    )
    assert one.names == ["mle"]
    assert one.absent == {"cd k=1": "not run on `b`", "cd": "not run on `a`"}


def test_who_has_no_such_value_on_a_task_is_left_out_and_named() -> None:
    good = [*runs("a", "mle", 1, 1), *runs("b", "mle", 1, 1), *runs("a", "cd", 2, 2), *runs("b", "cd", 2, 2)]
    score = [*runs("a", "ncsn", None, None), *runs("b", "ncsn", None, None)]
    stale = [*runs("a", "nce", 1, 1), row("b", "nce", None, None, status="stale", metric="")]
    skipped = [*runs("a", "ssm", 1, 1), *runs("b", "ssm", None, None, status="skipped")]
    one = only(frame_of(*good, *score, *stale, *skipped, *runs("a", "dsm", 1, 1)))
    assert one.names == ["mle", "cd"]
    assert one.absent == {
        "ncsn": "no KL on `a`, `b`",
        "nce": "stale on `b`",
        "ssm": "skipped on `b`",
        "dsm": "not run on `b`",
    }


def test_who_diverged_always_is_last_and_who_never_ran_is_left_out() -> None:
    diverged, failed = runs("a", "nce", None, None, status="diverged"), row("a", "ssm", None, None, status="failed")
    one = only(frame_of(*runs("a", "mle", 1, 1), *runs("a", "cd", 2, 2), *diverged, failed))
    assert one.names == ["mle", "cd", "nce"]
    assert one.absent == {"ssm": "failed on `a`"}


def test_a_dataset_on_which_nobody_has_a_value_is_no_task() -> None:
    lost = [*runs("b", "mle", None, None), *runs("b", "cd", None, None)]
    assert only(frame_of(*runs("a", "mle", 1, 1), *runs("a", "cd", 2, 2), *lost)).datasets == ["a"]


def test_one_method_or_one_seed_decides_nothing() -> None:
    assert not only(frame_of(*runs("a", "mle", 1, 1))).decided
    assert not only(frame_of(*runs("a", "mle", 1), *runs("a", "cd", 2))).decided
    assert only(frame_of(*runs("a", "mle", 1, 1), *runs("a", "cd", 2, 2))).decided


def test_kinds_of_samples_are_never_mixed(image_report: Path) -> None:
    results = load_results(image_report)
    found = {one.kind: one for one in find_contests(Results(results))}
    assert list(found) == ["buffer", "short", "long", "data"]
    for kind, one in found.items():
        values = results[(results["metric"] == "fid_ratio") & (results["samples"] == kind)]["value"].dropna()
        finite = one.losses[np.isfinite(one.losses)]
        assert sorted(finite) == pytest.approx(sorted(values))
    assert found["long"].names == ["ncsn", "mle", "nce"]
    assert found["data"].names == ["cd"]


def test_a_kind_knows_who_does_not_have_it_and_counts_lost_runs(image_report: Path) -> None:
    found = {one.kind: one for one in find_contests(Results(load_results(image_report)))}
    assert found["long"].absent["cd"] == "no long-run samples on `digits`"
    assert found["long"].absent["ssm"] == "failed on `digits`"
    assert np.isinf(column(found["short"], "cd")).tolist() == [[False, True, False]]
    assert np.isinf(column(found["short"], "nce")).tolist() == [[True, False, False]]


def test_who_diverged_always_is_not_known_to_have_a_kind_of_samples() -> None:
    shared = {"metric": "fid_ratio", "samples": "short"}
    good = [*runs("a", "mle", 1, 1, **shared), *runs("a", "cd", 2, 2, **shared)]
    one = only(frame_of(*good, *runs("a", "nce", None, None, status="diverged", metric="fid_ratio")))
    assert one.absent == {"nce": "diverged on `a`"}


def test_samples_of_a_kind_that_never_gave_a_value_are_last() -> None:
    shared = {"metric": "fid_ratio", "samples": "short"}
    good = [*runs("a", "mle", 1, 1, **shared), *runs("a", "cd", 2, 2, **shared)]
    one = only(frame_of(*good, *runs("a", "nce", None, None, **shared)))
    assert one.names == ["mle", "cd", "nce"]


def test_the_small_suite_ranks_a_failed_sweep_and_a_diverged_run_last(root: Path, params: Params) -> None:
    one = only(collect(root, params))
    assert sorted(one.names) == ["adance interval=10", "adance interval=5", "mle"]
    assert one.absent == {"ncsn": "no KL on `eight_gaussians`, `two_moons`"}
    assert np.isinf(column(one, "mle")).tolist() == [[False] * 3, [False, True, False]]
    assert np.isinf(column(one, "adance interval=5")).tolist() == [[False] * 3, [True] * 3]
