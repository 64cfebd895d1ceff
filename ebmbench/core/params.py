"""`params.yaml` as frozen, typed values.

Sections whose form belongs to a method, model or sampler are checked by its own file.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from ebmbench.core.divergence import Divergence
from ebmbench.core.errors import UserError
from ebmbench.core.overlay import lay_over
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
    beta1: float = Field(0.9, ge=0, lt=1, description="Adam's first decay; 0 is customary for image energies")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where networks are trained and sampled")
    data_noise: float = Field(0.0, ge=0, description="deviation of Gaussian noise added to data, in units of lengths")
    snapshots: list[Annotated[float, Field(gt=0, lt=1)]] = Field(
        [], description="shares of the budget at which the model is kept, to be judged by the first metric"
    )
    divergence: Divergence = Divergence()
    on_divergence: Literal["record", "restart"] = Field(
        "record", description="a run that diverges ends, or goes back to its last healthy state with half the rate"
    )
    restarts: int = Field(2, ge=0, description="how many times at the most")


class Data(Section):
    """Where files are that a dataset cannot make by itself."""

    root: str | None = Field(None, description="a folder with the files of image datasets; see docs/data.md")


class Dataset(Section):
    """Where data come from: a Python file (`density()`, `sample(count, generator)`, `images(files)`) or NumPy's."""

    source: str = Field(pattern=r"^[^/\\~].*\.(py|npy|npz)$", description="a path inside the project")
    function: str | None = Field(None, description="the function of a Python file; null: density, else sample")
    train: int = Field(50_000, ge=2)
    test: int = Field(10_000, ge=2)
    overrides: dict[str, Any] = Field({}, description="what is different on this dataset, laid over the whole file")

    @field_validator("source")
    @classmethod
    def _inside(cls, source: str) -> str:
        if ".." in PurePosixPath(source).parts or not source.isprintable():
            raise ValueError("a path inside the project")
        return source


Kind = Literal["buffer", "short", "long", "data"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Sampling(Section):
    """How every trained energy is sampled for judgement."""

    chains: int = Field(10_000, ge=1)
    spread: float = Field(1.5, gt=0, description="deviations of the noise that chains start from; not for images")
    sampler: dict[str, Any] = {}
    kinds: list[Kind] = Field(["long"], min_length=1, description="which kinds of samples are drawn")
    own: bool = Field(False, description="methods that train with chains are sampled by that sampler, not the suite's")
    short: int = Field(100, ge=1, description="steps of a short run from noise")
    long: int | None = Field(None, ge=1, description="steps of a long run; null: as many as the sampler says")


class Features(Section):
    """The reference classifier of a labelled image dataset, whose features FID and its kin are computed on."""

    epochs: int = Field(5, ge=1)
    batch_size: int = Field(128, ge=1)
    learning_rate: float = Field(4e-3, gt=0, description="the largest of its schedule")


class Annealing(Section):
    """Annealed importance sampling, forward and reverse."""

    chains: int = Field(200, ge=2)
    temperatures: int = Field(1000, ge=2, description="densities between base and model")
    step_size: float = Field(0.02, gt=0, description="of the Metropolis-adjusted transitions, where it starts to adapt")


class Health(Section):
    """Beyond which values a run that ended well is not called ok; the verdicts are in `metrics/verdict.py`."""

    r_hat: float = Field(1.1, gt=1, description="chains above it are unmixed")
    ess: float = Field(400, ge=0, description="and those with fewer effective draws (Vehtari et al. 2021)")
    collapse: float = Field(1.5, gt=1, description="long-run FID over short-run FID, beyond which long runs collapse")


class Metrics(Section):
    """How metrics are computed."""

    cells: int = Field(512, ge=16, description="quadrature cells per axis")
    projections: int = Field(128, ge=1, description="directions of the sliced Wasserstein distance")
    block: int = Field(1000, ge=2, description="samples per block of MMD²")
    reference: int = Field(10_000, ge=2, description="training images that generated ones are compared with")
    kid_subset: int = Field(250, ge=2, description="images per subset of KID")
    inception_weights: str | None = Field(None, description="file with Inception-v3 weights; null: our own classifier")
    ais: Annealing = Annealing()
    health: Health = Health()


class Resources(Section):
    """What a cell asks of the machine that it runs on."""

    gpu: int = Field(0, ge=0, le=1, description="a GPU of its own")


class Params(Section):
    """The whole file."""

    benchmark: Benchmark
    training: Training = Training()
    models: dict[Name, dict[str, Any]] = {}
    sampling: Sampling = Sampling()
    features: Features = Features()
    metrics: Metrics = Metrics()
    data: Data = Data()
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
            known(section, OVERRIDABLE, FILE, key)
            if not isinstance(values, dict):
                raise UserError(f"{FILE}: {key}.{section}: found {values!r}, allowed: a mapping")
            for name in OVERRIDABLE[section] and values:
                known(name, OVERRIDABLE[section], FILE, f"{key}.{section}")
        whole = self.model_dump()
        lay_over(whole, overrides)
        return check(Params, whole, FILE, key)


# What a dataset may change: all that concerns its own cells, with the keys where not all do.
OVERRIDABLE: dict[str, tuple[str, ...]] = {
    "benchmark": ("metrics", "baselines"),
    **dict.fromkeys(("training", "models", "sampling", "features", "metrics", "methods"), ()),
}


def load_params(root: Path) -> Params:
    """Read and check `params.yaml`: forms first, then that every name exists."""
    params = check(Params, read_yaml(root / FILE), FILE)
    _check_names(params)
    for dataset, entry in params.datasets.items():
        if entry.overrides:
            _check_names(params.on(dataset))
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
        if doubles := [value for value, times in Counter(values).items() if times > 1]:
            raise UserError(f"{FILE}: benchmark.{key}: found {doubles[0]!r} twice, allowed: each value once")


def _known(chosen: Iterable[str], allowed: Iterable[str], key: str) -> None:
    options = set(allowed)
    for name in chosen:
        known(name, options, FILE, key)
