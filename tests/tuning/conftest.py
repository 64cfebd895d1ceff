"""A project with a search so small that it takes seconds; its numbers mean nothing."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DEFAULTS = """\
benchmark: {suite: defaults, seeds: [0, 1], datasets: [two_moons], methods: [dsm], metrics: [kl]}
training: {budget: 5_000_000, batch_size: 64, ema: 0.9}
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
trials: 3
finalists: 2
methods:
  dsm: {criterion: sliced_wasserstein, space: {learning_rate: [1.0e-3, 1.0e-2], sigma: [0.1, 0.3]}}
  nce: {criterion: sliced_wasserstein, space: {"ratio, inflation": [[1, 1.0], [2, 2.0]]}}
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
