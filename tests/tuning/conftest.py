"""A project with a search so small that it takes seconds; its numbers mean nothing."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from ebmbench.tuning.search import first_round, last_round
from ebmbench.tuning.space import load_plan
from ebmbench.tuning.trials import Judged, Row, Trials

ROOT = Path(__file__).parents[2]

DEFAULTS = """\
benchmark: {suite: defaults, seeds: [0, 1], datasets: [two_moons], methods: [dsm], metrics: [kl]}
training: {budget: 15_000, batch_size: 64, ema: 0.9}
models: {mlp: {width: 8, layers: 2}}
sampling: {chains: 100, sampler: {kind: mala, steps: 2}}
metrics: {cells: 128, projections: 8}
datasets:
  two_moons: {source: ebmbench/data/two_moons.py, train: 500, test: 100}
  eight_gaussians: {source: ebmbench/data/eight_gaussians.py, train: 500, test: 100}
methods:
  dsm: {learning_rate: 1.0e-2, sigma: 0.2}
  nce: {learning_rate: 1.0e-2, inflation: 1.5}
"""

SPACE = """\
seeds: [1000, 1001]
datasets: [two_moons, eight_gaussians]
budget: 10_000
trials: {random: 1, tpe: 1, walk: 1, most: 8}
finalists: 2
methods:
  dsm:
    space: {learning_rate: [1.0e-3, 1.0e-2], sigma: [0.1, 0.3]}
    limits: {learning_rate: {least: 1.0e-3, most: 1.0e-2, why: enough}, sigma: {least: 0.1, most: 0.3, why: so be it}}
    criterion: {metric: sliced_wasserstein, why: to be quick}
  nce:
    space: {"ratio, inflation": [[1, 1.0], [2, 2.0], [3, 1.0]]}
    criterion: {metric: sliced_wasserstein, why: to be quick}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "suites" / "tuning").mkdir(parents=True)
    shutil.copytree(ROOT / "ebmbench" / "data", tmp_path / "ebmbench" / "data")
    (tmp_path / "suites" / "defaults.yaml").write_text(DEFAULTS, encoding="utf-8")
    (tmp_path / "suites" / "quick.yaml").write_text("benchmark: {suite: quick, seeds: [7]}\n", encoding="utf-8")
    (tmp_path / "suites" / "tuning" / "space.yaml").write_text(SPACE, encoding="utf-8")
    return tmp_path


def edit(project: Path, old: str, new: str) -> None:
    """Change the space."""
    path = project / "suites" / "tuning" / "space.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def rows_of(project: Path, method: str = "dsm") -> list[Row]:
    plan = load_plan(project)
    first = first_round(plan, method, [], plan.space.trials.least, lambda row: None)
    return [*first, *last_round(plan, method, first, lambda row: None)]


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting has a value of its own, and none is trained for it."""

    def judge(self: Trials, settings: Any, name: str, seed: int, passes: int) -> Judged:
        return Judged(1 + abs(math.sin(sum(map(ord, repr((settings, name, seed)))))), "ok", "")

    monkeypatch.setattr(Trials, "judge", judge)
