"""A small project with one image dataset, prepared, and its classifier trained; digits once per process."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from ruamel.yaml import YAML

from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.dataset import load_facts, read_split
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.stages.features import make_features
from ebmbench.stages.prepare import prepare

REPOSITORY = Path(__file__).parents[2]
DIGITS = {"epochs": 60}


def project(root: Path, dataset: str, features: dict[str, Any], train: int = 60_000, test: int = 10_000) -> Path:
    """A folder with `params.yaml`, the dataset's source and its prepared data."""
    source = f"ebmbench/data/{dataset}.py"
    (root / source).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REPOSITORY / source, root / source)
    entry = {"source": source, "train": train, "test": test, "overrides": {"features": features}}
    chosen = {"suite": "test", "seeds": [0], "datasets": [dataset], "methods": ["dsm"], "metrics": ["mmd"]}
    params = {"benchmark": chosen, "datasets": {dataset: entry}, "methods": {"dsm": {}}}
    YAML().dump(params, root / "params.yaml")
    prepare(root, dataset)
    return root


@cache
def _digits() -> TemporaryDirectory[str]:
    torch.set_num_threads(1)
    folder = TemporaryDirectory(prefix="ebmbench-digits-")
    make_features(project(Path(folder.name), "digits", DIGITS), "digits")
    return folder


def digits() -> Path:
    """The root of a project whose digits have a trained classifier."""
    return Path(_digits().name)


def evaluation(samples: torch.Tensor | None, **settings: Any) -> Evaluation:
    """Samples judged as digits."""
    data = digits() / "prepared" / "digits"
    train, test = read_split(data, "train"), read_split(data, "test")
    subject = Subject(None, samples, sampler="hand", kind="exact")
    return Evaluation(subject, test, None, load_facts(data), Settings(**settings), train, digits() / "features/digits")
