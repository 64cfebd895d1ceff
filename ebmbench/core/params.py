"""`params.yaml` as frozen, typed values.

Sections whose form belongs to a method, model or sampler are checked by its own file.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ebmbench.core.errors import UserError
from ebmbench.core.registry import names
from ebmbench.core.schema import check, known, read_yaml

FILE = "params.yaml"
# Names become folders and stage names: letters, digits and underscores cannot leave the project or split a
# stage's name.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=60)]


class Section(BaseModel):
    """Frozen, strict about types, and without room for unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Benchmark(Section):
    """What is compared."""

    suite: Name
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    datasets: list[Name] = Field(min_length=1)
    methods: list[Name] = Field(min_length=1)
    baselines: list[Name] = ["oracle", "gaussian"]
    metrics: list[Name] = Field(min_length=1)


class Training(Section):
    """The protocol, the same for every method."""

    budget: int = Field(8_000_000, ge=1, description="network passes per run, counted per event")
    batch_size: int = Field(256, ge=1)
    ema: float = Field(0.999, ge=0, lt=1, description="decay of the averaged weights, which are what is judged")
    clip: float = Field(100.0, gt=0, description="largest norm of a parameter gradient")
    rows: int = Field(200, ge=1, description="rows of history per run, evenly spaced over the budget")


class Dataset(Section):
    """Where data come from: a Python file (`density()` or `sample(count, generator)`) or a NumPy file."""

    source: str = Field(pattern=r"^[^/\\~].*\.(py|npy|npz)$", description="a path inside the project")
    function: str | None = Field(None, description="the function of a Python file; null: density, else sample")
    train: int = Field(50_000, ge=2)
    test: int = Field(10_000, ge=2)


class Sampling(Section):
    """How every trained energy is sampled for judgement."""

    chains: int = Field(10_000, ge=1)
    spread: float = Field(1.5, gt=0, description="chains start from noise this many data deviations wide")
    sampler: dict[str, Any] = {}


class Evaluation(Section):
    """How metrics are computed."""

    cells: int = Field(512, ge=16, description="quadrature cells per axis")
    projections: int = Field(128, ge=1, description="directions of the sliced Wasserstein distance")
    block: int = Field(1000, ge=2, description="samples per block of MMD²")


class Params(Section):
    """The whole file."""

    benchmark: Benchmark
    training: Training = Training()
    models: dict[Name, dict[str, Any]] = {}
    sampling: Sampling = Sampling()
    evaluation: Evaluation = Evaluation()
    datasets: dict[Name, Dataset]
    methods: dict[Name, dict[str, Any]]


def load_params(root: Path) -> Params:
    """Read and check `params.yaml`: forms first, then that every name exists."""
    params = check(Params, read_yaml(root / FILE), FILE)
    _check_names(params)
    return params


def _check_names(params: Params) -> None:
    """Every chosen name exists, as a file of its kind and as a section, and is chosen once."""
    chosen = params.benchmark.model_dump(include={"methods", "metrics", "baselines", "datasets", "seeds"})
    allowed = {kind: names(kind) for kind in ("methods", "metrics", "baselines", "models")}
    for kind in ("methods", "metrics", "baselines"):
        _known(chosen[kind], allowed[kind], f"benchmark.{kind}")
    _known(chosen["methods"], params.methods, "benchmark.methods")
    _known(chosen["datasets"], params.datasets, "benchmark.datasets")
    _known(params.methods, allowed["methods"], "methods")
    _known(params.models, allowed["models"], "models")
    for key, values in chosen.items():
        if doubles := [value for value in values if values.count(value) > 1]:
            raise UserError(f"{FILE}: benchmark.{key}: found {doubles[0]!r} twice, allowed: each value once")


def _known(chosen: Iterable[str], allowed: Iterable[str], key: str) -> None:
    for name in chosen:
        known(name, allowed, FILE, key)
