"""Which code a run uses, and a hash of it.

The files are found by following `import` statements inside the package, from the modules that a run starts with.
The hash is of their syntax trees without docstrings: a new comment changes no result, so it changes no digest.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ebmbench.core.registry import PACKAGE


def imported_files(modules: Iterable[str]) -> list[Path]:
    """Every file of the package that importing `modules` executes, in alphabetical order."""
    seen: set[Path] = set()
    waiting = [file for module in modules for file in _files_of(module)]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += [found for name in _imports(file) for found in _files_of(name)]
    return sorted(seen)


def code_hash(modules: Iterable[str]) -> str:
    """SHA-256 of the code that importing `modules` executes."""
    return _code_hash(tuple(modules))


@cache  # a thousand runs of a cell ask for the same few
def _code_hash(modules: tuple[str, ...]) -> str:
    whole = hashlib.sha256()
    for file in imported_files(modules):
        whole.update(f"{file.relative_to(PACKAGE).as_posix()}\n{tree_hash(file)}\n".encode())
    return whole.hexdigest()


def source_hash(path: Path) -> str:
    """SHA-256 of a file anywhere, together with the package's code that it imports: what a dataset's source says."""
    imports = _imports(path) if path.suffix == ".py" else ()
    return hashlib.sha256(path.read_bytes() + code_hash(imports).encode()).hexdigest()


def _files_of(module: str) -> list[Path]:
    """`ebmbench.core.code` -> the file and the `__init__` files above it; nothing for a name that is no module."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return []
    places = [PACKAGE.joinpath(*parts[1:i]) for i in range(1, len(parts) + 1)]
    files = [place / "__init__.py" for place in places] + [places[-1].with_suffix(".py")]
    return [file for file in files if file.is_file()]


@cache
def _imports(file: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)


@cache
def tree_hash(file: Path, without: tuple[str, ...] = ()) -> str:
    """SHA-256 of a file's code, without docstrings and, if asked for, without some names of its top level."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _defines(node, without)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _defines(node: ast.stmt, names: tuple[str, ...]) -> bool:
    """Whether a function or constant has one of these names."""
    if isinstance(node, ast.FunctionDef):
        return node.name in names
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id in names
