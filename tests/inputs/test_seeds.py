"""Seeds are whole numbers that floating point tells apart: larger ones are refused before anything is trained."""

import re
from pathlib import Path

import numpy as np
import pytest

import ebmbench
from ebmbench.config.params import load_params
from ebmbench.config.sections import LARGEST_SEED
from ebmbench.errors import UserError
from ebmbench.report.results.table import write_results
from ebmbench.stages import baselines, evaluate, features, prepare, report, sample, train
from ebmbench.stages.preparation import prepare_workspace
from tests.config.test_params import project

SEEDS = [0, LARGEST_SEED - 1, LARGEST_SEED]
PARAMS = f"""\
benchmark: {{suite: tiny, seeds: {SEEDS}, datasets: [mine], methods: [dsm], metrics: [sliced_wasserstein], claims: []}}
training: {{budget: 400, rows: 2, batch_size: 16, snapshots: []}}
models: {{mlp: {{width: 4, layers: 1}}}}
sampling: {{chains: 20, sampler: {{kind: mala, steps: 2}}}}
datasets: {{mine: {{source: mine.npy}}}}
methods: {{dsm: {{sigma: 0.1}}}}
"""


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, 2**63 - 1])
@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("seeds: [0, 1, 2]", "seeds: [0, {}]", "benchmark.seeds.1"),
        ("first: 5000", "first: {}", "claims.first"),
        ("again: 6000", "again: {}", "claims.again"),
    ],
)
def test_a_seed_that_floating_point_cannot_hold_is_refused(
    tmp_path: Path, old: str, new: str, key: str, value: int
) -> None:
    root = project(tmp_path, old, new.format(value))
    with pytest.raises(UserError) as caught:
        load_params(root)
    allowed = f"less than or equal to {LARGEST_SEED}"
    assert re.fullmatch(rf"params\.yaml: {key}: found {value}, allowed: {allowed}( \(and 1 more\))?", str(caught.value))


def test_the_largest_seed_of_claims_is_taken(tmp_path: Path) -> None:
    root = project(tmp_path, "first: 5000", f"first: {LARGEST_SEED}")
    prepare_workspace(root, load_params(root))


@pytest.mark.slow
def test_the_largest_seeds_are_told_apart_from_training_to_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).normal(size=(300, 2)))
    monkeypatch.chdir(tmp_path)
    assert [stage.main(["mine"]) for stage in (prepare, features, baselines)] == [0, 0, 0]
    assert [stage.main(["mine", "dsm"]) for stage in (train, sample, evaluate)] == [0, 0, 0]
    assert report.main([]) == 0
    folder = tmp_path / "reports/tiny/latest"
    frame = ebmbench.load_results(folder)
    for name in ("results.csv", "results.json", "results.parquet"):
        write_results(frame, tmp_path / name)
        assert sorted(set(ebmbench.load_results(tmp_path / name)["seed"])) == SEEDS
    values = frame[(frame["metric"] == "sliced_wasserstein") & (frame["method"] == "dsm")]
    assert list(values["seed"]) == SEEDS
    assert values["value"].nunique() == len(SEEDS)
    assert str(LARGEST_SEED) in (folder / "report.md").read_text(encoding="utf-8")
