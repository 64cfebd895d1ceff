"""`suites/tuning/space.yaml` as frozen, typed values, and the grid of settings that a search of a method may try.

Everything but the searched settings comes from `suites/defaults.yaml`, whatever suite `params.yaml` holds. A point of a
grid is one index for each axis. An axis is a path (`sampler.steps`) or several that vary together
(`sampler.levels, sampler.steps`, whose choices are lists). Choices keep their order, which a search uses.
"""

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ebmbench.config.params import Params
from ebmbench.config.registry import entries, load, names
from ebmbench.config.schema import check, known, read_yaml
from ebmbench.config.sections import Name, Section, Seed
from ebmbench.core.method import Settings
from ebmbench.errors import UserError, nearest
from ebmbench.workspace.layout import DEFAULTS, SUITES

Point = tuple[int, ...]
SPACE = f"{SUITES}/tuning/space.yaml"

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
class Grid:
    """Axes by key, the section that they change, and the point where a search starts."""

    method: str
    base: dict[str, Any]
    axes: dict[str, list[Any]]
    start: Point

    @property
    def size(self) -> int:
        """How many settings there are."""
        return math.prod(len(choices) for choices in self.axes.values())

    def points(self) -> Iterator[Point]:
        """All of them."""
        return itertools.product(*(range(len(choices)) for choices in self.axes.values()))

    def values(self, point: Point) -> dict[str, Any]:
        """The searched settings of a point, by path."""
        chosen = {key: choices[place] for (key, choices), place in zip(self.axes.items(), point, strict=True)}
        return {path: value for key, choice in chosen.items() for path, value in split_choice(key, choice).items()}

    def settings(self, point: Point, file: str) -> Settings:
        """The method's settings at a point."""
        section = set_values(self.base, self.values(point))
        return check(load("methods", self.method).Settings, section, file, f"methods.{self.method}.space")


def make_grid(method: str, defaults: Params, axes: dict[str, list[Any]], start: dict[str, Any], file: str) -> Grid:
    """The grid, with every path and every value checked; a start that is not on it is added to it."""
    key = f"methods.{method}"
    base = base_section(method, defaults)
    for axis in axes:
        _check_paths(base, axis, file, f"{key}.space")
    for axis in start:
        if axis not in axes:
            raise UserError(f"{file}: {key}.start: found {axis!r}, {nearest(axis, axes)}")
    starts = {axis: start.get(axis, _current(base, axis)) for axis in axes}
    full = {axis: _add_start(choices, starts[axis]) for axis, choices in axes.items()}
    for axis, choices in full.items():
        _check_choices(method, base, axis, choices, file)
    return Grid(method, base, full, tuple(full[axis].index(starts[axis]) for axis in axes))


def base_section(method: str, defaults: Params) -> dict[str, Any]:
    """A method's section of the defaults with every key, those that it leaves out as the method's file has them."""
    section = defaults.methods.get(method, {})
    return check(load("methods", method).Settings, section, DEFAULTS, f"methods.{method}").model_dump()


def set_values(section: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A copy of a section with values put in at their paths."""
    whole = copy.deepcopy(section)
    for path, value in values.items():
        *folders, last = path.split(".")
        inner = whole
        for part in folders:
            inner = inner[part]
        inner[last] = value
    return whole


def lookup(section: dict[str, Any], path: str) -> Any:
    """The value at a path."""
    value: Any = section
    for part in path.split("."):
        value = value[part]
    return value


def split_choice(axis: str, choice: Any) -> dict[str, Any]:
    """A choice of an axis by path."""
    paths = split_axis(axis)
    return dict(zip(paths, choice if len(paths) > 1 else [choice], strict=True))


def split_axis(axis: str) -> list[str]:
    """The paths that vary together on an axis."""
    return [path.strip() for path in axis.split(",")]


def _current(base: dict[str, Any], axis: str) -> Any:
    values = [lookup(base, path) for path in split_axis(axis)]
    return values if len(values) > 1 else values[0]


def _add_start(choices: list[Any], start: Any) -> list[Any]:
    """The choices and the start; numbers in order, anything else at the end."""
    if start in choices:
        return choices
    whole = [*choices, start]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in whole)
    return sorted(whole) if numbers else whole


def _check_paths(base: dict[str, Any], axis: str, file: str, key: str) -> None:
    for path in split_axis(axis):
        if path not in (allowed := list(_leaves(base))):
            raise UserError(f"{file}: {key}: found {path!r}, {nearest(path, allowed)}")


def _leaves(section: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _check_choices(method: str, base: dict[str, Any], axis: str, choices: list[Any], file: str) -> None:
    """Each value is one that the method takes, and stands there once."""
    key, count = f"methods.{method}.space", len(split_axis(axis))
    for choice in choices:
        if choices.count(choice) > 1:
            raise UserError(f"{file}: {key}.{axis}: found {choice!r} twice, allowed: each value once")
        if count > 1 and not (isinstance(choice, list) and len(choice) == count):
            raise UserError(f"{file}: {key}.{axis}: found {choice!r}, allowed: lists of {count} values")
        check(load("methods", method).Settings, set_values(base, split_choice(axis, choice)), file, key)


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
        return make_grid(method, self.defaults, search.space, search.start, self.file)


def load_plan(root: Path, file: str = SPACE) -> Plan:
    """Read and check the space: forms, then names, then that every value is one that its method takes."""
    space = check(Space, read_yaml(root / file), file)
    plan = Plan(root, file, space, check(Params, read_yaml(root / DEFAULTS), DEFAULTS))
    for dataset in space.datasets:
        known(dataset, plan.defaults.datasets, file, "datasets")
        if plan.defaults.datasets[dataset].overrides:
            raise UserError(f"{file}: datasets: found '{dataset}', which has overrides, allowed: datasets without")
    for key in ("seeds", "datasets"):
        _refuse_doubles(getattr(space, key), file, key)
    _refuse_reported_seeds(root, space, file)
    for method, search in space.methods.items():
        known(method, names("methods"), file, "methods")
        lower = [name for name, entry in entries("metrics").items() if entry.direction == "lower"]
        known(search.criterion, lower, file, f"methods.{method}.criterion")
        plan.grid(method)
    return plan


def suite_seeds(root: Path) -> dict[int, str]:
    """Every seed that a suite reports, with the suite's file."""
    files = sorted((root / SUITES).glob("*.yaml"))
    sections = {f"{SUITES}/{path.name}": read_yaml(path).get("benchmark") or {} for path in files}
    return {seed: name for name, section in sections.items() for seed in section.get("seeds", [])}


def _refuse_reported_seeds(root: Path, space: Space, file: str) -> None:
    reported = suite_seeds(root)
    for seed in space.seeds:
        if seed in reported:
            raise UserError(f"{file}: seeds: found {seed}, which {reported[seed]} has, allowed: seeds of no suite")


def _refuse_doubles(values: list[Any], file: str, key: str) -> None:
    if doubles := [value for value in values if values.count(value) > 1]:
        raise UserError(f"{file}: {key}: found {doubles[0]!r} twice, allowed: each value once")
