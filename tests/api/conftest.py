"""Data of one's own, in the plane and in five dimensions, through all stages, with small settings."""

from pathlib import Path

import numpy as np
import pytest

from ebmbench.config.schema import read_yaml
from ebmbench.stages import baselines, evaluate, features, prepare, report, sample, train
from ebmbench.workspace.files import write_json

ROOT = Path(__file__).parents[2]
BUDGET, CHAINS = 60_000, 100
SIZES = {"plane": 2, "wide": 5}
METHODS = ("nce", "dsm")


def own_data(name: str) -> np.ndarray:
    """600 points on a curve, with noise."""
    generator = np.random.default_rng(SIZES[name])
    angle = generator.uniform(0, 3, size=(600, 1))
    return np.sin(angle * np.arange(1, SIZES[name] + 1)) + 0.1 * generator.normal(size=(600, SIZES[name]))


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project whose report is built."""
    folder, params = tmp_path_factory.mktemp("own"), read_yaml(ROOT / "suites" / "defaults.yaml")
    params["benchmark"] |= {"suite": "tiny", "seeds": [0, 1], "datasets": [*SIZES], "methods": [*METHODS]}
    params["training"] |= {"budget": BUDGET, "batch_size": 64, "rows": 2, "snapshots": [0.5]}
    params["models"]["mlp"] |= {"width": 16, "layers": 2}
    params["sampling"] |= {"chains": CHAINS, "sampler": {"kind": "mala", "steps": 20, "step_size": 0.02}}
    params["metrics"] |= {"cells": 64, "projections": 64}
    params["datasets"] = {name: {"source": f"{name}.npy"} for name in SIZES}
    params["methods"] = {name: params["methods"][name] for name in METHODS}
    write_json(folder / "params.yaml", params)  # JSON is YAML
    for name in SIZES:
        np.save(folder / f"{name}.npy", own_data(name))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in SIZES:
            assert [stage.main([name]) for stage in (prepare, features, baselines)] == [0, 0, 0]
            for method in METHODS:
                assert [stage.main([name, method]) for stage in (train, sample, evaluate)] == [0, 0, 0]
        assert report.main([]) == 0
    return folder
