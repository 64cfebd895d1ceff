"""The settings that a search may try: a grid over paths into a method's section.

A point is one index per axis. An axis is a path (`sampler.steps`) or several that vary together
(`sampler.levels, sampler.steps`, whose choices are lists). Choices keep their order, so that a search can tell near
from far.
"""

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ebmbench.core.errors import UserError, nearest
from ebmbench.core.method import Settings
from ebmbench.core.params import Params
from ebmbench.core.registry import load
from ebmbench.core.schema import check

Point = tuple[int, ...]


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
        return {path: value for key, choice in chosen.items() for path, value in together(key, choice).items()}

    def settings(self, point: Point, file: str) -> Settings:
        """The method's settings at a point."""
        section = changed(self.base, self.values(point))
        return check(load("methods", self.method).Settings, section, file, f"methods.{self.method}.space")


def whole_grid(method: str, defaults: Params, axes: dict[str, list[Any]], start: dict[str, Any], file: str) -> Grid:
    """The grid, with every path and every value checked; a start that is not on it is added to it."""
    key = f"methods.{method}"
    base = base_section(method, defaults)
    for axis in axes:
        _check_paths(base, axis, file, f"{key}.space")
    for axis in start:
        if axis not in axes:
            raise UserError(f"{file}: {key}.start: found {axis!r}, {nearest(axis, axes)}")
    starts = {axis: start.get(axis, _current(base, axis)) for axis in axes}
    full = {axis: _with(choices, starts[axis]) for axis, choices in axes.items()}
    for axis, choices in full.items():
        _check_choices(method, base, axis, choices, file)
    return Grid(method, base, full, tuple(full[axis].index(starts[axis]) for axis in axes))


def base_section(method: str, defaults: Params) -> dict[str, Any]:
    """A method's section of the defaults with every key, those that it leaves out as the method's file has them."""
    section = defaults.methods.get(method, {})
    return check(load("methods", method).Settings, section, "suites/defaults.yaml", f"methods.{method}").model_dump()


def changed(section: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
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


def together(axis: str, choice: Any) -> dict[str, Any]:
    """A choice of an axis by path."""
    paths = paths_of(axis)
    return dict(zip(paths, choice if len(paths) > 1 else [choice], strict=True))


def paths_of(axis: str) -> list[str]:
    """The paths that vary together on an axis."""
    return [path.strip() for path in axis.split(",")]


def _current(base: dict[str, Any], axis: str) -> Any:
    values = [lookup(base, path) for path in paths_of(axis)]
    return values if len(values) > 1 else values[0]


def _with(choices: list[Any], start: Any) -> list[Any]:
    """The choices and the start; numbers in order, anything else at the end."""
    if start in choices:
        return choices
    whole = [*choices, start]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in whole)
    return sorted(whole) if numbers else whole


def _check_paths(base: dict[str, Any], axis: str, file: str, key: str) -> None:
    for path in paths_of(axis):
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
    key, count = f"methods.{method}.space", len(paths_of(axis))
    for choice in choices:
        if choices.count(choice) > 1:
            raise UserError(f"{file}: {key}.{axis}: found {choice!r} twice, allowed: each value once")
        if count > 1 and not (isinstance(choice, list) and len(choice) == count):
            raise UserError(f"{file}: {key}.{axis}: found {choice!r}, allowed: lists of {count} values")
        check(load("methods", method).Settings, changed(base, together(axis, choice)), file, key)
