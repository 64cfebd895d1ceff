"""An entry of `datasets` in `params.yaml`: where its source lies, and what that says of itself."""

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from ebmbench.config.sections import Dataset
from ebmbench.errors import UserError, in_words
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.layout import PARAMS_YAML

MAIN = "dataset.py"  # of a source that is a folder


def describe_entry(entry: Dataset) -> dict[str, Any]:
    """An entry of `datasets` without its overrides and outliers, on which the data do not depend."""
    return entry.model_dump(exclude={"overrides", "outliers"})


def source_path(root: Path, source: str, name: str, key: str = "source") -> Path:
    """The file that a dataset's entry names; it must be there, inside the project."""
    found = f"{PARAMS_YAML}: datasets.{name}.{key}: found {source!r}"
    try:
        path = (root / source).resolve()
        path = path / MAIN if path.is_dir() else path
        there = path.is_file()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"{found}, but it cannot be looked at ({in_words(error)[:200]})") from error
    if not path.is_relative_to(root.resolve()):
        raise UserError(f"{found}, allowed: a path inside the project")
    if not there:
        raise UserError(f"{found}, but there is no such file")
    return path


def declares_binary(root: Path, source: str, name: str) -> bool:
    """Whether a Python source says `BINARY = True`, read without running it."""
    path = source_path(root, source, name)
    if path.suffix != ".py":
        return False
    try:
        tree = ast.parse(text_of(path))
    except (SyntaxError, ValueError):  # `prepare` will say so
        return False
    return any(ast.unparse(node) == "BINARY = True" for node in tree.body)


def is_binary(module: ModuleType, name: str, *splits: Tensor) -> bool:
    """Whether a source says that its data are binary; they must be."""
    if not getattr(module, "BINARY", False):
        return False
    if not all(bool(((split == 0) | (split == 1)).all()) for split in splits):
        raise UserError(f"datasets.{name}: found BINARY = True with values other than 0 and 1, allowed: 0 and 1")
    return True
