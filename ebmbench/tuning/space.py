"""`suites/tuning/space.yaml` as frozen, typed values: what is searched, and with how many trials.

Everything but the searched settings comes from `suites/defaults.yaml`, whatever suite `params.yaml` holds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ebmbench.core.errors import UserError
from ebmbench.core.params import Params
from ebmbench.core.registry import entries, names
from ebmbench.core.schema import check, known, read_yaml
from ebmbench.core.sections import Name, Section, Seed
from ebmbench.tuning.grid import Grid, whole_grid

SPACE = "suites/tuning/space.yaml"
DEFAULTS = "suites/defaults.yaml"

Choices = Annotated[list[Any], Field(min_length=1)]


class Search(Section):
    """One method: what decides, the values that each setting may take, and where the search starts."""

    criterion: Name
    space: dict[str, Choices] = Field(min_length=1)
    start: dict[str, Any] = Field({}, description="the first trial; what is not here is taken from the defaults")


class Space(Section):
    """The whole file."""

    seeds: list[Seed] = Field(min_length=1, description="development seeds: no suite may have them")
    datasets: list[Name] = Field(min_length=1)
    budget: int = Field(ge=1, description="passes per run")
    trials: int = Field(ge=1, description="different settings per method, the same number for all")
    finalists: int = Field(ge=1, description="the best of the first round are run with all seeds")
    methods: dict[Name, Search] = Field(min_length=1)


@dataclass(frozen=True)
class Plan:
    """The space with the defaults below it, both checked; `file` is the space's, for messages."""

    root: Path
    file: str
    space: Space
    defaults: Params

    def grid(self, method: str) -> Grid:
        """The settings that a method may take."""
        known(method, self.space.methods, self.file, "methods")
        search = self.space.methods[method]
        return whole_grid(method, self.defaults, search.space, search.start, self.file)


def load_plan(root: Path, file: str = SPACE) -> Plan:
    """Read and check the space: forms, then names, then that every value is one that its method takes."""
    space = check(Space, read_yaml(root / file), file)
    plan = Plan(root, file, space, check(Params, read_yaml(root / DEFAULTS), DEFAULTS))
    for dataset in space.datasets:
        known(dataset, plan.defaults.datasets, file, "datasets")
        if plan.defaults.datasets[dataset].overrides:
            raise UserError(f"{file}: datasets: found '{dataset}', which has overrides, allowed: datasets without")
    for key in ("seeds", "datasets"):
        _once(getattr(space, key), file, key)
    _unseen(root, space, file)
    for method, search in space.methods.items():
        known(method, names("methods"), file, "methods")
        lower = [name for name, entry in entries("metrics").items() if entry.direction == "lower"]
        known(search.criterion, lower, file, f"methods.{method}.criterion")
        plan.grid(method)
    return plan


def suite_seeds(root: Path) -> dict[int, str]:
    """Every seed that a suite reports, with the suite's file."""
    files = sorted((root / "suites").glob("*.yaml"))
    sections = {f"suites/{path.name}": read_yaml(path).get("benchmark") or {} for path in files}
    return {seed: name for name, section in sections.items() for seed in section.get("seeds", [])}


def _unseen(root: Path, space: Space, file: str) -> None:
    reported = suite_seeds(root)
    for seed in space.seeds:
        if seed in reported:
            raise UserError(f"{file}: seeds: found {seed}, which {reported[seed]} has, allowed: seeds of no suite")


def _once(values: list[Any], file: str, key: str) -> None:
    if doubles := [value for value in values if values.count(value) > 1]:
        raise UserError(f"{file}: {key}: found {doubles[0]!r} twice, allowed: each value once")
