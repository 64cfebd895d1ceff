"""`suites/tuning/space.yaml` as frozen, typed values: what a search may try, how often, and by what it decides.

Everything but the searched settings comes from `suites/defaults.yaml`, whatever suite `params.yaml` holds. So does the
criterion: a method is tuned for the number that it is ranked by, the first of `benchmark.metrics`. The space of a
dataset with `overrides` takes all of it as it is on that dataset: for images, FID ratios of short runs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ebmbench.config.params import Params
from ebmbench.config.registry import entries, load, names
from ebmbench.config.schema import check, known, read_yaml
from ebmbench.config.sections import Kind, Name, Section, Seed
from ebmbench.errors import UserError
from ebmbench.tuning.grid import Grid, Limit, base_section, make_grid
from ebmbench.workspace.layout import DEFAULTS, REPORTS, SUITES, TUNING_LOGS

SPACE = f"{SUITES}/tuning/space.yaml"
PUBLISHED = f"{REPORTS}/tuning"

Choices = Annotated[list[Any], Field(min_length=1)]


class Criterion(Section):
    """Another metric than the one that methods are ranked by, and why."""

    metric: Name
    why: str = Field(min_length=1)


class Search(Section):
    """One method: the values that each setting may take, where the search starts, and where ranges must end."""

    space: dict[str, Choices] = Field(min_length=1)
    start: dict[str, Any] = Field({}, description="the first trial; what is not here is taken from the defaults")
    fixed: dict[str, Any] = Field({}, description="whole settings that no trial changes, in place of the defaults'")
    limits: dict[str, Limit] = Field({}, description="ends that no search may go beyond; other ranges go on")
    criterion: Criterion | None = Field(None, description="null: what methods are ranked by")


class Amounts(Section):
    """Different settings per method in round 1, beside the one where it starts; the same numbers for all."""

    random: int = Field(ge=1, description="drawn at random from the grid")
    tpe: int = Field(ge=0, description="proposed by a tree-structured Parzen estimator")
    walk: int = Field(ge=0, description="beyond the ends of ranges where the best stand at one, or beside the best")
    most: int = Field(ge=1, description="no method gets more, even if its best still stand at an end")

    @property
    def least(self) -> int:
        """How many a method has if no range is too short."""
        return 1 + self.random + self.tpe + self.walk


class Space(Section):
    """The whole file."""

    seeds: list[Seed] = Field(min_length=1, description="development seeds: no suite may have them")
    datasets: list[Name] = Field(min_length=1)
    budget: int = Field(ge=1, description="passes per run of round 1; the last round has the whole budget")
    whole: int | None = Field(None, ge=1, description="the whole budget; null: that of the defaults")
    trials: Amounts
    finalists: int = Field(ge=1, description="the best of round 1 are run with all seeds and the whole budget")
    methods: dict[Name, Search] = Field(min_length=1)


@dataclass(frozen=True)
class Plan:
    """The space with the defaults below it, both checked; `file` is the space's, for messages.

    `defaults` are those on the dataset, where the space has one with overrides.
    """

    root: Path
    file: str
    space: Space
    defaults: Params

    def grid(self, method: str) -> Grid:
        """The settings that a method may take."""
        known(method, self.space.methods, self.file, "methods")
        search = self.space.methods[method]
        return make_grid(method, self.base(method), search.space, search.start, search.limits, self.file)

    def base(self, method: str) -> dict[str, Any]:
        """The method's section before the search changes it: that of the defaults, with what is fixed here."""
        whole = base_section(method, self.defaults) | self.space.methods[method].fixed
        return check(load("methods", method).Settings, whole, self.file, f"methods.{method}.fixed").model_dump()

    def criterion(self, method: str) -> str:
        """The metric that decides."""
        other = self.space.methods[method].criterion
        return other.metric if other else self.main_criterion

    @property
    def main_criterion(self) -> str:
        """What methods are ranked by."""
        return self.defaults.benchmark.metrics[0]

    @property
    def kind(self) -> Kind:
        """The kind of samples that a criterion of samples is of: the one by which reports rank first."""
        kinds: tuple[Kind, ...] = ("short", "long")
        return next((kind for kind in kinds if kind in self.defaults.sampling.kinds), "long")

    @property
    def special(self) -> str | None:
        """The dataset, if it is one with overrides."""
        first = self.space.datasets[0]
        return first if self.defaults.datasets[first].overrides else None

    @property
    def section(self) -> str:
        """Where the defaults of methods stand: those on a dataset are among its overrides."""
        return "methods" if self.special is None else f"datasets.{self.special}.overrides.methods"

    @property
    def folder(self) -> str:
        """Where the table and the report go: those of a space of the user's own are not published."""
        place, published = (self.root / self.file).resolve(), (self.root / SPACE).resolve()
        if place == published:
            return PUBLISHED
        return (f"{PUBLISHED}/" if place.parent == published.parent else f"{TUNING_LOGS.as_posix()}/") + place.stem


def load_plan(root: Path, file: str = SPACE) -> Plan:
    """Read and check the space: forms, then names, then that every value is one that its method takes."""
    space = check(Space, read_yaml(root / file), file)
    defaults = check(Params, read_yaml(root / DEFAULTS), DEFAULTS)
    _check_datasets(space, defaults, file)
    _refuse_doubles(space.seeds, file, "seeds")
    defaults = defaults.on(space.datasets[0])
    if space.whole is not None:
        training = defaults.training.model_copy(update={"budget": space.whole})
        defaults = defaults.model_copy(update={"training": training})
    plan = Plan(root, file, space, defaults)
    _refuse_reported_seeds(root, space, file)
    _check_amounts(plan)
    lower = [name for name, entry in entries("metrics").items() if entry.direction == "lower"]
    for method in space.methods:
        known(method, names("methods"), file, "methods")
        known(plan.criterion(method), lower, file, f"methods.{method}.criterion")
        plan.grid(method)
    return plan


def suite_seeds(root: Path) -> dict[int, str]:
    """Every seed that a suite reports, with the suite's file."""
    files = sorted((root / SUITES).glob("*.yaml"))
    sections = {f"{SUITES}/{path.name}": read_yaml(path).get("benchmark") or {} for path in files}
    return {seed: name for name, section in sections.items() for seed in section.get("seeds", [])}


def _check_datasets(space: Space, defaults: Params, file: str) -> None:
    """Known, each once, and all under the same defaults: none with overrides, or one alone."""
    for dataset in space.datasets:
        known(dataset, defaults.datasets, file, "datasets")
        if defaults.datasets[dataset].overrides and len(space.datasets) > 1:
            found = f"found '{dataset}', which has overrides, beside others"
            raise UserError(f"{file}: datasets: {found}, allowed: one such dataset alone, or datasets without")
    _refuse_doubles(space.datasets, file, "datasets")


def _check_amounts(plan: Plan) -> None:
    amounts, whole = plan.space.trials, plan.defaults.training.budget
    if amounts.most < amounts.least:
        raise UserError(
            f"{plan.file}: trials.most: found {amounts.most}, allowed: at least {amounts.least}, the others"
        )
    if plan.space.budget > whole:
        raise UserError(f"{plan.file}: budget: found {plan.space.budget}, allowed: at most {whole}, the whole")


def _refuse_reported_seeds(root: Path, space: Space, file: str) -> None:
    reported = suite_seeds(root)
    for seed in space.seeds:
        if seed in reported:
            raise UserError(f"{file}: seeds: found {seed}, which {reported[seed]} has, allowed: seeds of no suite")


def _refuse_doubles(values: list[Any], file: str, key: str) -> None:
    if doubles := [value for value in values if values.count(value) > 1]:
        raise UserError(f"{file}: {key}: found {doubles[0]!r} twice, allowed: each value once")
