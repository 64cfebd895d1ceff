"""`params.yaml` as one frozen, typed value, with the overrides of each dataset."""

import os
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from ebmbench.config.registry import names
from ebmbench.config.schema import check, known, read_yaml
from ebmbench.config.sections import (
    Benchmark,
    Claims,
    Data,
    Dataset,
    Features,
    Metrics,
    Name,
    Resources,
    Sampling,
    Section,
    Training,
)
from ebmbench.config.yaml import lay_over
from ebmbench.errors import UserError
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.layout import DOWNLOADS, OUTPUTS, PARAMS_YAML


class Params(Section):
    """The whole file."""

    benchmark: Benchmark
    training: Training = Training()
    models: dict[Name, dict[str, Any]] = Field({})
    sampling: Sampling = Sampling()
    features: Features = Features()
    metrics: Metrics = Metrics()
    data: Data = Data()
    claims: Claims = Claims()
    datasets: dict[Name, Dataset]
    methods: dict[Name, dict[str, Any]]
    resources: dict[str, Resources] = Field(
        {}, description="by METHOD, METHOD/DATASET or /DATASET; makes nothing stale"
    )

    def on(self, dataset: str) -> "Params":
        """The values that hold on one dataset: its `overrides` laid over the whole."""
        overrides = self.datasets[dataset].overrides
        if not overrides:
            return self
        key = f"datasets.{dataset}.overrides"
        for section, values in overrides.items():
            known(section, OVERRIDABLE, PARAMS_YAML, key)
            if not isinstance(values, dict):
                raise UserError(f"{PARAMS_YAML}: {key}.{section}: found {values!r}, allowed: a mapping")
            for name in OVERRIDABLE[section] and values:
                known(name, OVERRIDABLE[section], PARAMS_YAML, f"{key}.{section}")
        whole = self.model_dump()
        lay_over(whole, overrides)
        return check(Params, whole, PARAMS_YAML, key)


# What a dataset may change: all that concerns its own cells, with the keys where not all do.
OVERRIDABLE: dict[str, tuple[str, ...]] = {
    "benchmark": ("metrics", "baselines"),
    **dict.fromkeys(("training", "models", "sampling", "features", "metrics", "methods"), ()),
}


def load_params(root: Path) -> Params:
    """Read and check `params.yaml`: forms first, then that every name exists. A text is checked once per process."""
    file = root / PARAMS_YAML
    return _load(root.absolute(), text_of(file) if file.is_file() else None)


@lru_cache(maxsize=8)
def _load(root: Path, text: bytes | None) -> Params:
    params = check(Params, read_yaml(root / PARAMS_YAML, text), PARAMS_YAML)
    _check_names(params)
    _check_inputs(root, params)
    for dataset, entry in params.datasets.items():
        for key in ("source", "outliers"):
            outside_outputs(root, getattr(entry, key), f"{PARAMS_YAML}: datasets.{dataset}.{key}")
        if entry.overrides:
            _check_names(params.on(dataset))
            _check_inputs(root, params.on(dataset))
    return params


def outside_outputs(root: Path, path: str | None, key: str, *, but: Path | None = None) -> None:
    """Refuse an input inside an output folder (except `but`), because DVC and the program remove files there."""
    if path is None or "\0" in path:  # which no file has in its name
        return
    for place in _places(root / (Path(path).expanduser() if path.startswith("~/") else path)):
        written = any(_within(place, root / name) for name in OUTPUTS)
        holds = any(_within(root / name, place) for name in OUTPUTS) and not but
        if holds or (written and not (but and _within(place, root / but))):
            folders = ", ".join(f"{name}/" for name in OUTPUTS)
            raise UserError(f"{key}: found {path!r}, allowed: a path outside of {folders}, where files are removed")


def _within(place: Path, folder: Path) -> bool:
    return any(place.is_relative_to(one) for one in _places(folder))


def _places(path: Path) -> set[Path]:
    """The path as written and with links followed; unlike `Path.resolve` this accepts links in a circle."""
    return {Path(os.path.normpath(path.absolute())), Path(os.path.realpath(path))}


def _check_inputs(root: Path, params: Params) -> None:
    outside_outputs(root, params.data.root, f"{PARAMS_YAML}: data.root", but=DOWNLOADS)
    outside_outputs(root, params.metrics.inception_weights, f"{PARAMS_YAML}: metrics.inception_weights")


def _check_names(params: Params) -> None:
    """Every chosen name exists, as a file of its kind and as a section, and is chosen once."""
    chosen = params.benchmark.model_dump(include={"methods", "metrics", "baselines", "datasets", "seeds", "claims"})
    allowed = {kind: names(kind) for kind in ("methods", "metrics", "baselines", "models")}
    for kind in ("methods", "metrics", "baselines"):
        _known(chosen[kind], allowed[kind], f"benchmark.{kind}")
    if chosen["claims"]:  # there are many of them, and most suites have none
        _known(chosen["claims"], names("claims"), "benchmark.claims")
    _known(chosen["methods"], params.methods, "benchmark.methods")
    _known(chosen["datasets"], params.datasets, "benchmark.datasets")
    _known(params.methods, allowed["methods"], "methods")
    _known(params.models, allowed["models"], "models")
    for key, values in chosen.items():
        if doubles := [value for value, times in Counter(values).items() if times > 1]:
            raise UserError(f"{PARAMS_YAML}: benchmark.{key}: found {doubles[0]!r} twice, allowed: each value once")


def _known(chosen: Iterable[str], allowed: Iterable[str], key: str) -> None:
    options = set(allowed)
    for name in chosen:
        known(name, options, PARAMS_YAML, key)
