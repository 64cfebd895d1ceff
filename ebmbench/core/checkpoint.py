"""Checkpoints: safetensors files with the configuration as JSON in their header, written whole or not at all."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from torch import Tensor

from ebmbench.errors import UserError
from ebmbench.workspace.files import replacing

FORMAT = "1"


def save(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors and a JSON header."""
    # One key only: safetensors writes several in random order, and equal checkpoints should be equal bytes.
    metadata = {"ebmbench": json.dumps({"format": FORMAT, "header": header}, sort_keys=True, allow_nan=False)}
    with replacing(path) as temporary:
        # Written by Python, whose errors name the cause: a full disk, no permission.
        plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
        temporary.write_bytes(serialise(plain, metadata))


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and header; a `UserError` names a file that is not a whole checkpoint of this format."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        content = json.loads(metadata.get("ebmbench", "{}"))
    except (OSError, SafetensorError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a whole safetensors file ({error})") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT or not isinstance(content.get("header"), dict):
        raise UserError(f"{path}: found format {found!r}, allowed: {FORMAT!r} with a header")
    return tensors, content["header"]


def add_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """`{"weight": …}` -> `{"model.weight": …}`."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def select_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of `add_prefix`: the tensors that have the prefix, without it."""
    return {name[len(prefix) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")}
