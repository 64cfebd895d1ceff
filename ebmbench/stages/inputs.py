"""The inputs that `dvc.yaml` declares for a stage: read at its start, compared at its end.

DVC hashes parameters and dependencies *after* a stage's command has run. If `params.yaml` is edited during training,
`dvc.lock` would say that the new values made the old result. So a stage fails if an input has changed while it ran.
It also refuses code that it loads but does not declare, because DVC would never notice an edit of it.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ebmbench.config.params import Params, load_params
from ebmbench.config.schema import read_yaml
from ebmbench.config.yaml import lookup, plain
from ebmbench.errors import UserError
from ebmbench.workspace.code_hash import PACKAGE, imported_files, loaded_code, shown, texts
from ebmbench.workspace.layout import DVC_YAML, PARAMS_YAML
from ebmbench.workspace.reads import changed_reads
from ebmbench.workspace.record import hash_of

# Folders whose files a stage loads by name or by listing, beside what its module imports.
BY_NAME: dict[str, tuple[str, ...]] = {
    "baselines": ("baselines", "metrics"),
    "train": ("models", "samplers"),
    "sample": ("models", "samplers"),
    "evaluate": ("metrics", "models", "samplers"),
    "claim": ("methods", "metrics", "models", "samplers"),
    "report": ("report/figures", "report/sections"),
}
_NAME = re.compile(r"\$\{([a-z_]+(?:\.[a-z_]+)*)\}")
_MISSING = object()


@dataclass(frozen=True)
class Inputs:
    """The values of declared parameters by key, and the hashes of declared files and folders by path."""

    params: dict[str, Any]
    inputs: dict[str, str | None]


def read_inputs(root: Path, stage: str) -> Inputs:
    """The present values and hashes of what the stage declares; empty outside a DVC project."""
    if not (root / DVC_YAML).is_file():
        return Inputs({}, {})
    params = read_yaml(root / PARAMS_YAML)
    keys, paths = _names(root, stage, params)
    paths += _optional(root, stage)
    return Inputs({key: lookup(params, key) for key in keys}, {path: hash_of(root / path) for path in paths})


def _optional(root: Path, stage: str) -> list[str]:
    """Files that `dvc.yaml` cannot name since they may be null: Inception's weights, and the source of outliers."""
    kind, _, item = stage.partition("@")
    dataset = item.partition("-")[0]
    if kind not in ("prepare", "evaluate", "baselines"):
        return []
    params = load_params(root)
    found = params.datasets[dataset].outliers if kind == "prepare" else params.on(dataset).metrics.inception_weights
    return [found] if found else []


def require_declared(root: Path, stage: str) -> None:
    """Refuse code that the stage would load but `dvc.yaml` does not list for it, before any work is done."""
    if (root / DVC_YAML).is_file():
        files = imported_files([f"ebmbench.stages.{stage.partition('@')[0]}", *_plugins(stage)])
        _refuse_undeclared(root, stage, files)


def _plugins(stage: str) -> list[str]:
    """The modules that a stage loads by name: its method or claim, and all files of the folders in `BY_NAME`."""
    kind, _, item = stage.partition("@")
    method, claim = item.partition("-")[2], item if kind == "claim" else ""
    own = [f"ebmbench.methods.{method}"] * bool(method) + [f"ebmbench.claims.{claim}"] * bool(claim)
    files = [file for folder in BY_NAME.get(kind, ()) for file in sorted((PACKAGE / folder).glob("[a-z]*.py"))]
    return own + [".".join(["ebmbench", *file.relative_to(PACKAGE).with_suffix("").parts]) for file in files]


def require_unchanged(root: Path, stage: str, before: Inputs) -> None:
    """Fail if anything declared is not what the stage has used, or if it has loaded code that is not declared."""
    if not before.inputs and not before.params:
        return
    _refuse_undeclared(root, stage, loaded_code())
    now = plain((root / PARAMS_YAML).read_text(encoding="utf-8"))
    changed = [f"{PARAMS_YAML}: {key}" for key, value in before.params.items() if lookup(now, key) != value]
    changed += [path for path, found in before.inputs.items() if hash_of(root / path) != found]
    changed += [*(shown(file) for file in _edited(root, before.inputs)), *changed_reads()]
    if changed:
        names = ", ".join(sorted(set(changed)))
        raise UserError(f"{stage}: {names} changed while the stage ran; its outputs are not taken, run it again")


def require_keys(root: Path) -> None:
    """Refuse a `params.yaml` without a key that `dvc.yaml` names: DVC knows no defaults, and fails after the work."""
    if not (root / DVC_YAML).is_file():
        return
    params = read_yaml(root / PARAMS_YAML)
    for key in _required_keys(read_yaml(root / DVC_YAML)["stages"], params):
        if lookup(params, key, _MISSING) is _MISSING:
            raise UserError(
                f"{PARAMS_YAML}: {key}: found nothing, but DVC knows no defaults; write it down ({_default_of(key)})"
            )


def _refuse_undeclared(root: Path, stage: str, files: Iterable[Path]) -> None:
    params = read_yaml(root / PARAMS_YAML)
    _, paths = _names(root, stage, params)
    entry = params["datasets"].get(stage.partition("@")[2].partition("-")[0], {})
    # A dataset's sources are declared by `prepare`; others take them only as `prepare` read them (`open_truth`).
    sources = filter(None, [entry.get("source"), entry.get("outliers")])
    places = {str((root / path).resolve()) for path in [*paths, *sources]}
    folders = tuple(f"{place}{os.sep}" for place in places)
    # In a checkout that is not the project itself (an installed package) DVC declares nothing of it.
    project = f"{root.resolve()}{os.sep}"
    for file in files:
        if str(file).startswith(project) and str(file) not in places and not str(file).startswith(folders):
            by, hint = _explain_import(stage, file)
            raise UserError(
                f"{stage}: {shown(file)} is imported{by}, but {DVC_YAML} does not list it for this stage, so DVC would "
                f"never notice an edit of it; {hint}"
            )


def _explain_import(stage: str, file: Path) -> tuple[str, str]:
    """Which plug-in imports a file, and where code belongs that plug-ins of its kind share."""
    for module in _plugins(stage):
        if file in imported_files([module]):
            kind = module.split(".")[1]
            noun = "sections and figures" if kind == "report" else kind
            place = {"report": "ebmbench/report/", "claims": "ebmbench/claims/testing/"}
            shared = place.get(kind, f"ebmbench/{kind}/common/")
            return f" by {module.replace('.', '/')}.py", f"what {noun} share belongs into {shared}"
    return "", "move its code into a file that is listed"


def _edited(root: Path, inputs: Iterable[str]) -> Iterator[Path]:
    """Declared files that this process has read and that are something else on the disk by now."""
    places = [(root / path).resolve() for path in inputs]
    for file, text in texts().items():
        inside = any(file.is_relative_to(place) for place in places)
        if inside and not (file.is_file() and file.read_bytes() == text):
            yield file


def _names(root: Path, stage: str, params: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The keys and paths that a stage declares."""
    stages = read_yaml(root / DVC_YAML)["stages"]
    kind, _, rest = stage.partition("@")
    body = stages[kind]
    names = {"benchmark.suite": params["benchmark"]["suite"]}
    if "foreach" in body:
        names |= {"key": rest} | {f"item.{key}": str(value) for key, value in params["datasets"][rest].items()}
        body = body["do"]
    elif "matrix" in body:
        # A name has no dash: with one key in the matrix all of the rest is its value.
        names |= {f"item.{key}": part for key, part in zip(body["matrix"], rest.split("-"), strict=True)}
    filled = ([_fill(text, names) for text in body.get(kind, [])] for kind in ("params", "deps"))
    keys, paths = filled
    return keys, paths


def _fill(text: str, names: dict[str, str]) -> str:
    return _NAME.sub(lambda match: names.get(match[1], match[0]), text)


def _required_keys(stages: dict[str, Any], params: dict[str, Any]) -> Iterator[str]:
    """Every key of `params.yaml` that DVC looks up for the stages that there are."""
    sections = set(Params.model_fields)
    for body in stages.values():
        yield from (name for name in _NAME.findall(repr(body)) if name.partition(".")[0] in sections)
        lists = [*(body.get("matrix") or {}).values(), *filter(None, [body.get("foreach")])]
        if all(lookup(params, name[2:-1]) for name in lists):  # an empty one makes no stages
            yield from (key for key in body.get("do", body).get("params", []) if "$" not in key)


def _default_of(key: str) -> str:
    """The default of a key, in words for an error."""
    value: Any = Params
    for part in key.split("."):
        model = type(value) if isinstance(value, BaseModel) else value
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            return "it has no default"
        value = field.annotation if field.is_required() else field.default
    if isinstance(value, type):
        return "it has no default"
    text = repr(value.model_dump() if isinstance(value, BaseModel) else value)
    return f"the default is {text}" if len(text) < 200 else "`ebmbench suite use` writes the defaults"
