"""From measurement to verdict and files: each arm once per seed, found again, decided by the rule, and told."""

import csv
import json
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.record import render_record, run_claim
from tests.claims.testing.sample import NAME, coin, known


@pytest.fixture
def unfair() -> Iterator[types.ModuleType]:
    module = coin(0.6)
    with known(module):
        yield module


def test_every_arm_is_measured_once_at_each_seed_and_then_found_again(unfair: types.ModuleType, tmp_path: Path) -> None:
    for _ in range(2):
        run_claim(NAME, 0, 100, Bench(tmp_path))
    expected = [(arm, seed) for seed in [*range(6), *range(100, 106)] for arm in ("one", "two")]
    assert unfair.thrown == expected


def test_fresh_measures_anew(unfair: types.ModuleType, tmp_path: Path) -> None:
    run_claim(NAME, 0, None, Bench(tmp_path))
    run_claim(NAME, 0, None, Bench(tmp_path, fresh=True))
    assert len(unfair.thrown) == 24


@pytest.mark.parametrize(("bias", "verdict"), [(0.6, "reproduced"), (0.4, "not reproduced"), (0.5, "undecided")])
def test_the_verdict_follows_the_coin(bias: float, verdict: str, tmp_path: Path) -> None:
    with known(coin(bias)):
        record = run_claim(NAME, 0, 100, Bench(tmp_path))
    assert record.decision.verdict == verdict
    assert record.repeated is not None
    assert record.repeated.verdict == verdict


def test_the_files_hold_the_verdict_and_every_value(unfair: types.ModuleType, tmp_path: Path) -> None:
    run_claim(NAME, 0, 100, Bench(tmp_path)).save(tmp_path / "out")
    verdict = json.loads((tmp_path / "out/verdict.json").read_text(encoding="utf-8"))
    assert (verdict["verdict"], verdict["verdict_again"], verdict["source"]) == (
        "reproduced",
        "reproduced",
        "Bernoulli (1713)",
    )
    rows = list(csv.DictReader((tmp_path / "out/values.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(row["seed"]) for row in rows] == [*range(6), *range(100, 106)]
    first = [float(row["value"]) for row in rows if row["set"] == "first"]
    assert first == verdict["criteria"][0]["finding"]["values"]
    assert json.loads((tmp_path / "out/metrics.json").read_text())["heads"] == pytest.approx(sum(first) / 6)
    with Image.open(tmp_path / "out/figure.png") as figure:
        assert figure.width > 500


def test_equal_measures_give_equal_files(unfair: types.ModuleType, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run_claim(NAME, 0, None, Bench(tmp_path / name)).save(tmp_path / name / "out")
    for file in ("verdict.json", "values.csv", "metrics.json", "figure.png"):
        assert (tmp_path / "a/out" / file).read_bytes() == (tmp_path / "b/out" / file).read_bytes()


def test_the_terminal_is_told_rule_numbers_and_verdict(unfair: types.ModuleType, tmp_path: Path) -> None:
    text = render_record(run_claim(NAME, 7, None, Bench(tmp_path)))
    assert "above 0.5 (one-sided t over seeds, α = 0.01)" in text
    assert "power" in text
    assert text.endswith("verdict: reproduced (seeds 7 … 12)")


def test_sets_of_seeds_that_disagree_decide_nothing(unfair: types.ModuleType, tmp_path: Path) -> None:
    good = unfair.measure
    unfair.measure = lambda arm, seed, bench: (
        good(arm, seed, bench) if seed < 50 else {"heads": 0.5 + 0.01 * (seed % 2)}
    )
    record = run_claim(NAME, 0, 100, Bench(tmp_path))
    assert (record.decision.verdict, record.verdict) == ("reproduced", "undecided")
    assert record.as_dict()["verdict"] == "undecided"
    assert record.summary == f"{NAME}: undecided (reproduced; again: undecided)"
