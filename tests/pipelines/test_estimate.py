"""About how long a run will still take."""

from pathlib import Path

import pytest

from pipelines.estimate import Estimate, read_costs

COSTS = {"train@a-x": 10.0, "train@b-x": 20.0, "evaluate@a-x": 5.0}
HEAD = "dataset,method,label,metric,seconds_train,seconds_sample,seconds_evaluate\n"
ROWS = [
    "a,oracle,oracle/seed=0,kl,,,3.0",
    "a,oracle,oracle/seed=0,mmd,,,3.0",
    "a,oracle,oracle/seed=1,kl,,,4.0",
    "a,x,seed=0,kl,10.5,1.0,2.0",
    "a,x,seed=0,mmd,10.5,1.0,2.0",
    "a,x,seed=1,kl,9.5,1.0,2.5",
    "b,x,,,,,",
]


def test_the_report_tells_the_seconds_of_each_stage_once_for_each_run(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("benchmark: {suite: s}\n", encoding="utf-8")
    assert read_costs(tmp_path) == {}
    folder = tmp_path / "reports/s/latest"
    folder.mkdir(parents=True)
    (folder / "results.csv").write_text(HEAD + "\n".join(ROWS) + "\n", encoding="utf-8")
    assert read_costs(tmp_path) == {"baselines@a": 7.0, "train@a-x": 20.0, "sample@a-x": 2.0, "evaluate@a-x": 4.5}


def test_what_is_left_is_shared_by_as_many_stages_as_run_now_but_the_longest_is_not() -> None:
    estimate = Estimate(COSTS, COSTS)
    assert estimate.left({}, {}) == 35.0
    assert estimate.left({"train@a-x": 4.0, "train@b-x": 4.0}, {}) == pytest.approx((6 + 16 + 5) / 2, abs=3)
    assert estimate.left({"train@a-x": 9.0, "train@b-x": 1.0}, {}) == 19.0
    assert estimate.left({"train@b-x": 1.0}, {"train@b-x": 100.0}) == 115.0
    for stage in COSTS:
        estimate.end(stage, 1.0)
    assert estimate.left({}, {}) is None


def test_stages_that_took_longer_than_they_once_did_slow_the_rest_of_their_kind() -> None:
    estimate = Estimate(COSTS, COSTS)
    estimate.end("train@a-x", 30.0)
    assert estimate.left({}, {}) == 3 * 20 + 5


def test_a_stage_that_nobody_knows_is_taken_for_a_mean_one_and_without_any_nothing_is_said() -> None:
    assert Estimate(COSTS, ["train@c-x", "prepare@c", "report"]).left({}, {}) == 15.0
    unknown = Estimate({}, ["claim@a", "claim@b", "claim@c", "report"])
    assert unknown.left({}, {}) is None
    unknown.end("claim@a", None)  # blocked
    assert unknown.left({}, {}) is None
    unknown.end("claim@b", 8.0)
    assert unknown.left({"claim@c": 2.0}, {}) == 6.0
