"""Check values against a schema; each error is one line: file, key, what was found, what is allowed."""

import typing
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ebmbench.config.yaml import plain
from ebmbench.errors import UserError, nearest
from ebmbench.workspace.code_hash import text_of

M = TypeVar("M", bound=BaseModel)


def read_yaml(path: Path, text: bytes | None = None) -> dict[str, Any]:
    """A YAML 1.2 mapping (so `1e-3` is a number); duplicate keys and broken syntax are `UserError`s.

    `text` is the content of the file, where that has been read already.
    """
    try:
        value = plain((text_of(path) if text is None else text).decode("utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path.name}: not found in {path.parent.resolve()}") from error
    except (ValueError, OSError) as error:
        raise UserError(f"{path.name}: not readable: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(value, dict):
        raise UserError(f"{path.name}: found {type(value).__name__}, allowed: a mapping of sections")
    return value


def check(model: type[M], value: Any, file: str, key: str = "") -> M:
    """Validate a section; the first fault, and how many more there are, in one line."""
    if not isinstance(value, dict):
        raise UserError(
            f"{file}: {key}: found {_show(value)}, allowed: a mapping with keys {', '.join(model.model_fields)}"
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        # A mistyped key is both unknown and missing: what the user wrote comes first.
        faults = sorted(error.errors(), key=lambda fault: fault["type"] == "missing")
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UserError(f"{file}: {_line(model, faults[0], value, key)}{more}") from error


def known(name: str, allowed: typing.Iterable[str], file: str, key: str) -> None:
    """Refuse a name that does not exist, and suggest the nearest."""
    options = list(allowed)
    if name not in options:
        raise UserError(f"{file}: {key}: found {_show(name)}, {nearest(str(name), options)}")


def _line(model: type[BaseModel], fault: Any, whole: Any, prefix: str) -> str:
    """One fault in words."""
    key = _short(".".join(filter(None, [prefix, *_keys(fault["loc"], whole)])))
    if fault["type"] == "extra_forbidden":
        owner = _owner(model, fault["loc"][:-1])
        return f"{key}: found an unknown key, {nearest(str(fault['loc'][-1]), owner.model_fields)}"
    if fault["type"] == "missing":
        return f"{key}: found nothing, allowed: a value (this key is required)"
    if fault["type"].startswith("union_tag"):
        options = fault["ctx"].get("expected_tags", "").replace("'", "")
        return f"{key}.kind: found {_show(fault['ctx'].get('tag'))}, allowed: {options or 'a kind of sampler'}"
    message = fault["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{key}: found {_show(fault['input'])}, allowed: {message}"


def _keys(location: tuple[int | str, ...], value: Any) -> list[str]:
    """The keys of a location in the user's file; pydantic adds the tag of a union, which is no key."""
    keys = []
    for part in location:
        inside = part in value if isinstance(value, dict) else isinstance(part, int)
        if inside or part == location[-1]:
            keys.append(str(part))
            value = value[part] if inside and not isinstance(value, str) else value
    return keys


def _owner(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """The model that a nested location belongs to."""
    candidates, in_mapping = [model], False
    for part in location:
        if part in model.model_fields and not in_mapping:
            annotation = model.model_fields[str(part)].annotation
            candidates, in_mapping = _models(annotation) or candidates, typing.get_origin(annotation) is dict
        else:  # a name in a mapping of models, or the tag of a union
            candidates, in_mapping = [c for c in candidates if _tag(c) == part] or candidates, False
        model = candidates[0]
    return model


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in typing.get_args(annotation) for model in _models(argument)]


def _tag(model: type[BaseModel]) -> Any:
    return model.model_fields["kind"].default if "kind" in model.model_fields else None


def _show(value: Any) -> str:
    return _short(repr(value), 60)


def _short(text: str, longest: int = 200) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
