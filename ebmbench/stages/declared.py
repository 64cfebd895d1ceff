"""What `dvc.yaml` declares a stage to read, and a digest of it.

DVC hashes parameters and dependencies *after* a stage's command has run. Edit `params.yaml` during training and
the lock would say that the new values made the old result. So a stage digests what it declared at its start and
at its end, and fails if they differ.
"""

import hashlib
from pathlib import Path
from typing import Any

from ebmbench.core.errors import UserError
from ebmbench.core.params import FILE
from ebmbench.core.schema import read_yaml


def snapshot(root: Path, stage: str) -> dict[str, str]:
    """Digests of every parameter and file that the stage declares, by name; empty outside a DVC project."""
    if not (root / "dvc.yaml").is_file():
        return {}
    params = read_yaml(root / FILE)
    body, names = _template(read_yaml(root / "dvc.yaml")["stages"], stage, params)
    keys = [_fill(key, names) for key in body.get("params", [])]
    values = {f"{FILE}: {key}": hashlib.sha256(repr(_lookup(params, key)).encode()).hexdigest() for key in keys}
    files = [_fill(path, names) for path in body.get("deps", [])]
    return values | {path: _hash(root / path) for path in files}


def compare(stage: str, before: dict[str, str], after: dict[str, str]) -> None:
    """Fail if anything that was declared changed while the stage ran."""
    changed = sorted(name for name in before if before[name] != after.get(name))
    if changed:
        raise UserError(
            f"{stage}: {', '.join(changed)} changed while the stage ran; its result is not kept, run it again"
        )


def _template(stages: dict[str, Any], stage: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The stage's body in `dvc.yaml`, and the values of the names in it."""
    kind, _, rest = stage.partition("@")
    body = stages[kind]
    names = {"benchmark.suite": params["benchmark"]["suite"]}
    if "foreach" in body:
        entry = params["datasets"][rest]
        return body["do"], names | {"key": rest} | {f"item.{key}": str(value) for key, value in entry.items()}
    if "matrix" in body:
        # A name has no dash: with one key in the matrix all of the rest is its value.
        names |= {f"item.{key}": part for key, part in zip(body["matrix"], rest.split("-"), strict=True)}
    return body, names


def _fill(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("${" + name + "}", value)
    return text


def _lookup(value: Any, key: str) -> Any:
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _hash(path: Path) -> str:
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if "__pycache__" not in file.parts)
    whole = hashlib.sha256()
    for file in files:
        if file.is_file():
            whole.update(f"{file.relative_to(path.parent).as_posix()}\n".encode() + file.read_bytes())
    return whole.hexdigest()
