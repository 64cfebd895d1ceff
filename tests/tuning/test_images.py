"""A search on one dataset with overrides: it starts from what holds there, and judges as the stages do."""

import csv
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ebmbench.errors import UserError
from ebmbench.experiment import runs
from ebmbench.experiment.runs import Run
from ebmbench.experiment.samples import draw
from ebmbench.stages.evaluate import evaluate_cell
from ebmbench.stages.features import make_features
from ebmbench.stages.prepare import prepare
from ebmbench.stages.sample import sample_cell
from ebmbench.stages.train import train_cell
from ebmbench.tuning import examiner
from ebmbench.tuning.report import render_report
from ebmbench.tuning.run import render_winners
from ebmbench.tuning.space import load_plan
from ebmbench.tuning.trials import Trials
from tests.tuning.conftest import edit, rows_of

ROOT = Path(__file__).parents[2]
DEFAULTS = """\
benchmark: {suite: defaults, seeds: [1000], datasets: [digits], methods: [dsm, mle, ncsn], metrics: [kl]}
training: {budget: 20_000, batch_size: 64, ema: 0.9}
models: {mlp: {width: 8, layers: 2}, noise_mlp: {width: 8, layers: 2}}
sampling: {chains: 100, sampler: {kind: mala, steps: 2}}
datasets:
  two_moons: {source: ebmbench/data/two_moons.py, train: 500, test: 100}
  digits:
    source: ebmbench/data/digits.py
    train: 1297
    test: 500
    overrides: &images
      benchmark: {metrics: [fid_ratio, fid]}
      training: {budget: 30_000, beta1: 0.0, snapshots: [0.5]}
      models: {mlp: {width: 16}}
      sampling:
        {chains: 40, kinds: [buffer, short, long], own: true, short: 10, long: 20,
         sampler: {kind: langevin, step_size: 0.09, noise_std: 0.01, box: 1.0}}
      features: {epochs: 2}
      metrics: {reference: 300}
      methods:
        dsm: {sigma: 0.3}
        mle: {sampler: {kind: langevin, steps: 4, step_size: 1.0, noise_std: 0.01, box: 1.0}}
  more_digits: {source: ebmbench/data/digits.py, train: 1297, test: 500, overrides: *images}
methods:
  dsm: {learning_rate: 1.0e-2, sigma: 0.05}
  mle: {learning_rate: 1.0e-3, buffer: 100}
  ncsn: {sampler: {kind: annealed_langevin, steps: 2, step_size: 0.0004, levels: 3}}
"""
SPACE = """\
seeds: [1001, 1002]
datasets: [digits]
budget: 10_000
trials: {random: 1, tpe: 0, walk: 1, most: 3}
finalists: 1
methods:
  dsm:
    space: {learning_rate: [1.0e-3, 1.0e-2], sampler.step_size: [0.03, 0.09]}
    fixed: {sampler: {kind: langevin, step_size: 0.09}}
  mle: {space: {learning_rate: [1.0e-3, 1.0e-2]}}
  ncsn: {space: {learning_rate: [1.0e-3, 1.0e-2]}}
"""


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A project whose space is of digits."""
    (tmp_path / "suites" / "tuning").mkdir(parents=True)
    shutil.copytree(ROOT / "ebmbench" / "data", tmp_path / "ebmbench" / "data")
    for file in ("suites/defaults.yaml", "params.yaml"):
        (tmp_path / file).write_text(DEFAULTS, encoding="utf-8")
    (tmp_path / "suites" / "tuning" / "space.yaml").write_text(SPACE, encoding="utf-8")
    return tmp_path


def test_the_base_is_what_holds_on_the_dataset(images: Path) -> None:
    plan = load_plan(images)
    assert plan.grid("dsm").base["sigma"] == 0.3
    assert plan.grid("mle").base["sampler"]["steps"] == 4
    assert plan.criterion("dsm") == "fid_ratio"
    assert (plan.kind, plan.special, plan.defaults.training.budget) == ("short", "digits", 30_000)
    assert plan.defaults.models["mlp"] == {"width": 16, "layers": 2}
    edit(images, "budget: 10_000", "budget: 10_000\nwhole: 15_000")
    assert load_plan(images).defaults.training.budget == 15_000


def test_a_search_gives_rows_and_a_report_of_ratios(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []

    def recorded(trained: Any, kind: Any, *rest: Any) -> Any:
        kinds.append(kind)
        return draw(trained, kind, *rest)

    monkeypatch.setattr(examiner, "draw", recorded)
    plan, rows = load_plan(images), rows_of(images)
    finalists = len({0, min(rows[:3], key=lambda row: row.value).trial})
    assert [(row.round, row.status, row.criterion, row.passes) for row in rows] == [
        *[(1, "ok", "fid_ratio", 10_000)] * 3,
        *[(2, "ok", "fid_ratio", 30_000)] * finalists,
    ]
    for row in rows:
        assert row.value == pytest.approx(math.log(row.scores["digits"] or 0))
    assert kinds == ["short"] * (3 + 2 * finalists)
    text = render_report(plan, rows)
    assert "# How the settings on digits were chosen" in text
    assert "`fid_ratio`, is the FID of short-run samples over that of noisy test images" in text
    assert "with the overrides of `digits`" in text
    assert "geometric mean" not in text
    assert "- `sampler`: kind=langevin, step_size=0.09, fixed" in text
    assert "suites/defaults.yaml, datasets.digits.overrides.methods" in render_winners(plan, rows, ["dsm"])


@pytest.mark.parametrize("method", ["dsm", "mle", "ncsn"])
def test_the_criterion_is_what_the_stages_write_for_the_same_run(
    images: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(images, "    fixed: {sampler: {kind: langevin, step_size: 0.09}}\n", "")
    edit(images, ", sampler.step_size: [0.03, 0.09]", "")
    prepare(images, "digits")
    make_features(images, "digits")
    for stage in (train_cell, sample_cell, evaluate_cell):
        stage(images, "digits", method)
    folder = images / "runs" / "defaults" / "digits" / method
    table = csv.DictReader((folder / "rows.csv").read_text(encoding="utf-8").splitlines())
    values = {row["samples"]: row["value"] for row in table if row["metric"] == "fid_ratio"}
    assert values["short"] != values["long"]
    monkeypatch.setattr(runs, "train", None)  # the run is found, so it is the same
    monkeypatch.setattr("ebmbench.experiment.classifier.train", None)
    plan = load_plan(images)
    trials = Trials(plan, method)
    found = trials.judge(trials.grid.settings(trials.grid.start), "digits", 1000, 30_000)
    assert found.status == "ok"
    assert found.value == float(values["short"])


def test_samples_that_are_not_finite_have_no_value(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Any:
        drawn = draw(*arguments)
        assert drawn is not None
        return replace(drawn, x=drawn.x.where(drawn.x > 0, math.nan))

    monkeypatch.setattr(examiner, "draw", broken)
    trials = Trials(load_plan(images), "dsm")
    row = trials.run(trials.grid.start, 0, "start")
    assert (row.value, row.status) == (math.inf, "unavailable")
    assert "40 of 40 samples are not finite" in row.reason


def test_a_run_that_was_given_up_is_not_sampled(images: Path, tmp_path: Path) -> None:
    (tmp_path / "given up").mkdir()
    (tmp_path / "given up" / "status.json").write_text('{"status": "diverged", "reason": "flat"}', encoding="utf-8")
    found = Trials(load_plan(images), "dsm").examiners["digits"].judge(Run(tmp_path / "given up"))
    assert (found.value, found.status, found.reason) == (None, "diverged", "flat")


FAULTS = [
    ("[digits]", "[digits, two_moons]", r"space.yaml: datasets: found 'digits', which has overrides, beside others"),
    ("[digits]", "[two_moons, digits]", r"space.yaml: datasets: found 'digits', which has overrides, beside others"),
    ("[digits]", "[digits, more_digits]", r"space.yaml: datasets: found 'digits', .*allowed: one such dataset alone"),
    ("[digits]", "[two_moons, two_moons]", r"space.yaml: datasets: found 'two_moons' twice"),
    ("budget: 10_000", "budget: 40_000", r"space.yaml: budget: found 40000, allowed: at most 30000"),
    ("fixed: {sampler:", "fixed: {smapler:", r"space.yaml: methods\.dsm\.fixed\.smapler: found an unknown key"),
    ("kind: langevin, step", "kind: langevin, stp", r"space.yaml: methods\.dsm\.fixed\.sampler\.stp_size: found"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS)
def test_a_wrong_space_is_one_line(images: Path, old: str, new: str, message: str) -> None:
    edit(images, old, new)
    with pytest.raises(UserError, match=message) as caught:
        load_plan(images)
    assert "\n" not in str(caught.value)
