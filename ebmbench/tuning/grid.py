"""The grid of settings that the search of a method may try.

A setting has a choice for each axis. An axis is a path (`sampler.steps`) or several that vary together
(`sampler.levels, sampler.steps`, whose choices are lists). Choices keep their order, which a search uses. In tables a
setting is a text, `learning_rate=0.001, sampler.steps=10`, which reads back as the same setting.
"""

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from ruamel.yaml import YAML

from ebmbench.config.params import Params
from ebmbench.config.registry import load
from ebmbench.config.schema import check
from ebmbench.config.sections import Section
from ebmbench.core.method import Settings
from ebmbench.errors import UserError, nearest
from ebmbench.workspace.layout import DEFAULTS

Setting = dict[str, Any]  # a choice for each axis


class Limit(Section):
    """The ends that a range of numbers may not go beyond, and why."""

    least: float | None = None
    most: float | None = None
    why: str = Field(min_length=1)

    def end(self, up: bool) -> float | None:
        """The upper or the lower one."""
        return self.most if up else self.least


@dataclass(frozen=True)
class Grid:
    """Axes by key, the section that they change, where a search starts, and limits of axes."""

    method: str
    base: dict[str, Any]
    axes: dict[str, list[Any]]
    start: Setting
    limits: dict[str, Limit]
    file: str  # of the space, for messages

    @property
    def size(self) -> int:
        """How many settings there are."""
        return math.prod(len(choices) for choices in self.axes.values())

    def all_settings(self) -> Iterator[Setting]:
        """All of them."""
        for chosen in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, chosen, strict=True))

    def text(self, setting: Setting) -> str:
        """A setting as tables have it."""
        return settings_text(self._values(setting))

    def read(self, text: str) -> Setting:
        """The setting of such a text."""
        values = settings_values(text)
        return {axis: _chosen(axis, [values[path] for path in split_axis(axis)]) for axis in self.axes}

    def settings(self, setting: Setting) -> Settings:
        """The method's settings."""
        section = set_values(self.base, self._values(setting))
        return check(load("methods", self.method).Settings, section, self.file, f"methods.{self.method}.space")

    def _values(self, setting: Setting) -> dict[str, Any]:
        return {path: value for axis in self.axes for path, value in _split_choice(axis, setting[axis]).items()}


def make_grid(
    method: str, base: dict[str, Any], axes: dict[str, list[Any]], start: Setting, limits: dict[str, Limit], file: str
) -> Grid:
    """The grid, with every path, value and limit checked; a start that is not on it is added to it."""
    key = f"methods.{method}"
    for axis in axes:
        _check_paths(base, axis, file, f"{key}.space")
    for part, named in (("start", start), ("limits", limits)):
        for axis in named:
            if axis not in axes:
                raise UserError(f"{file}: {key}.{part}: found {axis!r}, {nearest(axis, axes)}")
    starts = {axis: start.get(axis, _current(base, axis)) for axis in axes}
    full = {axis: _add_start(choices, starts[axis]) for axis, choices in axes.items()}
    for axis, choices in full.items():
        _check_choices(method, base, axis, choices, file)
    for axis, limit in limits.items():
        _check_limit(full[axis], limit, file, f"{key}.limits.{axis}")
    return Grid(method, base, full, starts, limits, file)


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


def is_number(value: Any) -> bool:
    """An integer or a float; true and false are neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def settings_text(values: dict[str, Any]) -> str:
    """`learning_rate=0.001, sampler.steps=10`; values as YAML has them."""
    return ", ".join(f"{path}={value_text(value)}" for path, value in values.items())


def value_text(value: Any) -> str:
    """A number, word, true, false or null."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def settings_values(text: str) -> dict[str, Any]:
    """The same, read back."""
    pairs = (part.split("=", 1) for part in text.split(", "))
    return {path: YAML(typ="safe").load(value) for path, value in pairs}


def split_axis(axis: str) -> list[str]:
    """The paths that vary together on an axis."""
    return [path.strip() for path in axis.split(",")]


def _split_choice(axis: str, choice: Any) -> dict[str, Any]:
    """A choice of an axis by path."""
    paths = split_axis(axis)
    return dict(zip(paths, choice if len(paths) > 1 else [choice], strict=True))


def _chosen(axis: str, values: list[Any]) -> Any:
    return values if len(split_axis(axis)) > 1 else values[0]


def _current(base: dict[str, Any], axis: str) -> Any:
    return _chosen(axis, [_lookup(base, path) for path in split_axis(axis)])


def _lookup(section: dict[str, Any], path: str) -> Any:
    value: Any = section
    for part in path.split("."):
        value = value[part]
    return value


def _add_start(choices: list[Any], start: Any) -> list[Any]:
    """The choices and the start; numbers in order, anything else at the end."""
    if start in choices:
        return choices
    whole = [*choices, start]
    return sorted(whole) if all(map(is_number, whole)) else whole


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
        check(load("methods", method).Settings, set_values(base, _split_choice(axis, choice)), file, key)


def _check_limit(choices: list[Any], limit: Limit, file: str, key: str) -> None:
    """A limit is for numbers, and none of them lies beyond it."""
    if not all(map(is_number, choices)):
        raise UserError(f"{file}: {key}: found a limit of {choices!r}, allowed: limits of numbers")
    for value in choices:
        if (limit.least is not None and value < limit.least) or (limit.most is not None and value > limit.most):
            raise UserError(f"{file}: {key}: found {value!r} in the space, which is beyond")
