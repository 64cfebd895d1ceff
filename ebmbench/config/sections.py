"""The sections of `params.yaml`: what each key means, its default, and which values it may have.

Sections whose form belongs to a method, model or sampler are checked by its own file.
"""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

# Names become folders and stage names: letters, digits and underscores cannot leave the project or split a
# stage's name.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=60)]

# Tables, figures and browsers read numbers as floating point: beyond it two whole numbers can be one.
LARGEST_SEED = 2**53 - 1
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]

# Bytes. Most file systems end at 255 for a name; paths at 1024 or 4096, and the project's own folder comes first.
LONGEST_NAME, LONGEST_PATH = 255, 1000


def _short(path: str) -> str:
    """A path that a file system can hold: a longer one is an error of the system wherever it is first looked at."""
    lengths = [len(part.encode("utf-8", "replace")) for part in (path, *PurePosixPath(path).parts)]
    if lengths[0] > LONGEST_PATH or max(lengths[1:], default=0) > LONGEST_NAME:
        raise ValueError(f"a path of at most {LONGEST_PATH} bytes, and {LONGEST_NAME} for each name in it")
    return path


File = Annotated[str, AfterValidator(_short)]


class Section(BaseModel):
    """Frozen, strict about types, and without room for unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Benchmark(Section):
    """What is compared."""

    suite: Name
    seeds: list[Seed] = Field(min_length=1)
    datasets: list[Name]
    methods: list[Name]
    baselines: list[Name] = ["oracle", "gaussian"]
    metrics: list[Name] = Field(min_length=1)
    claims: list[Name] = Field([], description="claims of the literature to put to the test, files in ebmbench/claims")

    @model_validator(mode="after")
    def _compares_or_tests(self) -> "Benchmark":
        """A suite compares methods on datasets, or it puts claims to the test: one report each."""
        cells, found = (self.datasets, self.methods), "datasets and methods"
        if self.claims and any(cells):
            raise ValueError(f"claims, or {found}, but not both")
        if not self.claims and not all(cells):
            raise ValueError(f"one or more {found}, or claims")
        return self


class Claims(Section):
    """The seeds that claims are decided by; how many, each claim says itself."""

    first: Seed = Field(5000, description="the verdict rests on the seeds from here on")
    again: Seed | None = Field(6000, description="and is tried once more with those from here on; null: it is not")


class Divergence(Section):
    """Beyond which values training is given up. Wide on purpose: a run that learns at all comes nowhere near them."""

    energy: float = Field(
        1e6, gt=0, description="largest size of an energy: single precision rounds it to a sixteenth of a nat there"
    )
    gradient: float = Field(1e6, gt=0, description="largest mean norm of ∇E along training chains")
    flat: float = Field(
        0.5, ge=0, description="E = c: no two log-densities of a step differ by more, for a tenth of the budget"
    )
    gap: float = Field(
        10.0, gt=0, description="nats per coordinate that valid chains may end above or below the data, for as long"
    )
    drift: float = Field(
        0.1, ge=0, description="E = c for cold chains: it moves them so much less far than noise does, for as long"
    )


class Training(Section):
    """The protocol, the same for every method."""

    budget: int = Field(8_000_000, ge=1, description="network passes per run, counted per event")
    batch_size: int = Field(256, ge=1, description="drawn with replacement; as many as there are data: all of them")
    optimiser: Literal["adam", "sgd"] = Field("adam", description="sgd: plain gradient steps, as in older work")
    schedule: Literal["cosine", "constant"] = Field("cosine", description="of the learning rate, over the budget")
    ema: float = Field(0.999, ge=0, lt=1, description="decay of the averaged weights, which are what is judged")
    clip: float | None = Field(100.0, gt=0, description="largest norm of a parameter gradient; null: no limit")
    rows: int = Field(200, ge=1, description="rows of history per run, evenly spaced over the budget")
    beta1: float = Field(0.9, ge=0, lt=1, description="Adam's first decay; 0 is customary for image energies")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where networks are trained and sampled; auto: on a GPU if there is one"
    )
    data_noise: float = Field(0.0, ge=0, description="deviation of Gaussian noise added to data, in units of lengths")
    data_per_seed: bool = Field(
        False, description="each seed draws a training set of its own; only for data with a density or sample()"
    )
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

    root: File | None = Field(None, description="a folder with the files of image datasets; see docs/data.md")


class Dataset(Section):
    """Where data come from: a Python file (`density()`, `sample(count, generator)`, `images(files)`) or NumPy's."""

    source: File = Field(
        pattern=r"^[^/\\~](.*\.(py|npy|npz)|[^.]*)$",
        description="a path inside the project; of a folder, its dataset.py",
    )
    function: str | None = Field(None, description="the function of a Python file; null: density, else sample")
    train: int = Field(50_000, ge=2)
    test: int = Field(10_000, ge=2)
    outliers: File | None = Field(None, description="the source of images that are no such data, for auroc_outliers")
    overrides: dict[str, Any] = Field({}, description="what is different on this dataset, laid over the whole file")

    @field_validator("source", "outliers")
    @classmethod
    def _inside(cls, source: str | None) -> str | None:
        if source is None:
            return None
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
    settle: int = Field(400, ge=4, description="transitions at T = 1 before reverse chains start")


class Health(Section):
    """Beyond which values a run that ended well is not called ok; the verdicts are in `experiment/verdict.py`."""

    r_hat: float = Field(1.1, gt=1, description="chains above it are unmixed")
    ess: float = Field(400, ge=0, description="and those with fewer effective draws (Vehtari et al. 2021)")
    collapse: float = Field(1.5, gt=1, description="long-run FID over short-run FID, beyond which long runs collapse")


class Metrics(Section):
    """How metrics are computed."""

    cells: int = Field(512, ge=16, description="quadrature cells per axis")
    projections: int = Field(1024, ge=1, description="directions of the sliced Wasserstein distance, above the plane")
    block: int = Field(1000, ge=2, description="samples per block of MMD²")
    reference: int = Field(10_000, ge=2, description="training images that generated ones are compared with")
    inception_weights: File | None = Field(None, description="file with Inception-v3 weights; null: our own classifier")
    ais: Annealing = Annealing()
    health: Health = Health()


class Resources(Section):
    """What a cell asks of the machine that it runs on."""

    gpu: int = Field(0, ge=0, le=1, description="a GPU of its own")
