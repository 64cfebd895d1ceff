"""The hash of the code that a result depends on.

The files are found by following `import` statements through the project. The hash is of their syntax trees without
docstrings, because a new comment changes no result, and of the versions of the libraries that make numbers.

A file may be edited while a stage runs. So a stage calls `freeze()` before it imports anything else. From then on every
file of the project is read once per process, and is imported, hashed and compared as that text. This module is loaded
before, so it imports nothing of the package.

Parsing takes seconds, so a frozen process remembers what it computes from a text on disk, by the SHA-256 of the text.
"""

import ast
import contextlib
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = ("torch", "numpy", "scipy", "torchvision", "torch-fidelity", "scikit-learn")  # those that make numbers
MEMORY = "work/code/memory.json"
MAKER = [1, sys.version]  # raise the number with every change of what is remembered, `_hash_tree` and `_imports`
MOST = 3_000  # remembered values
_TEXTS: dict[Path, bytes] = {}  # by file, as it was first read
_EARLIER: set[Path] = set()  # of modules that were imported before `freeze`
_FROZEN: list[Path] = []  # the project's root, once files are to be read only once
_MEMORY: dict[str, Any] = {}  # what was computed from a text, by its SHA-256
_NEW: list[str] = []  # of these, what is not on disk


def freeze(root: Path) -> None:
    """Read every file of the project only once from now on in this process, also for `import`."""
    if not _FROZEN:
        _FROZEN.append(root.resolve())
        _recall(_FROZEN[0] / MEMORY)
        for file in _imported():
            text_of(file)
        _EARLIER.update(_TEXTS)
        sys.meta_path.insert(0, _Finder)


def text_of(file: Path) -> bytes:
    """The bytes of a file; in a frozen process, those of the first read."""
    if not _FROZEN:
        return file.read_bytes()
    file = _resolve(file)
    if file not in _TEXTS:
        _TEXTS[file] = file.read_bytes()
    return _TEXTS[file]


def texts() -> dict[Path, bytes]:
    """All files that this frozen process has read, with what it read."""
    return dict(_TEXTS)


def loaded_code() -> list[Path]:
    """The project's modules that were imported since `freeze`."""
    return sorted(_imported() & _TEXTS.keys() - _EARLIER)


def _imported() -> set[Path]:
    """The project's files that modules were loaded from; a generated module may name a file that does not exist."""
    names = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    ours = {_resolve(name) for name in names if isinstance(name, str) and name.endswith(".py") and in_project(name)}
    return {file for file in ours if file.is_file()}


def in_project(file: str) -> bool:
    """Whether a file belongs to the project: in the package or below the root, and not installed."""
    roots = (PACKAGE.parent, *_FROZEN)
    # First by the name of its folder: nearly all modules are of libraries.
    return _in_roots(file.rpartition(os.sep)[0], roots) and _in_roots(str(_resolve(file).parent), roots)


@cache
def _in_roots(folder: str, roots: tuple[Path, ...]) -> bool:
    place = Path(folder).resolve()
    return any(place.is_relative_to(root) for root in roots) and not installed(place)


def installed(file: Path) -> bool:
    """Whether a file belongs to Python or an installed library, even inside the project."""
    places = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix)}
    outside = {place for place in places if not PACKAGE.is_relative_to(place)}
    return "site-packages" in file.parts or any(file.is_relative_to(place) for place in outside)


def _resolve(file: str | Path) -> Path:
    """`Path.resolve`, but much faster for many files of the same folders."""
    path = Path(file).absolute()
    path = _resolve_folder(path.parent) / path.name
    return path.resolve() if path.is_symlink() else path


_resolve_folder = cache(Path.resolve)


class Loader(SourceFileLoader):
    """Imports a module from the text that `text_of` gives.

    Python reuses compiled code if the file's time and length are the same; here its text must be the same.
    """

    def path_stats(self, path: str) -> dict[str, int]:
        """The key of compiled code: a hash of the text in place of the file's time."""
        text = text_of(Path(path))
        return {"mtime": int.from_bytes(hashlib.sha256(text).digest()[:4], "little"), "size": len(text)}

    def get_data(self, path: str) -> bytes:
        """A module's text, or compiled code."""
        return super().get_data(_beside(path)) if path.endswith(".pyc") else text_of(Path(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write compiled code beside Python's own."""
        super().set_data(_beside(path), data, _mode=_mode)


def _beside(path: str) -> str:
    return f"{path.removesuffix('.pyc')}.text.pyc"


class _Finder:
    """Finds modules as Python does, and gives the project's own to `Loader`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and in_project(spec.loader.path):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def imported_files(modules: Iterable[str], importer: Path | None = None) -> list[Path]:
    """Every file of the project that importing `modules` (into `importer`) executes, in alphabetical order."""
    seen: set[Path] = set()
    waiting = [file for module in modules for file in _files_of(module, importer)]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += [found for name in imports_of(file) for found in _files_of(name, file)]
    _remember()
    return sorted(seen)


def code_hash(modules: Iterable[str]) -> str:
    """SHA-256 of the code that importing `modules` executes, and of the libraries' versions."""
    return _code_hash(tuple(modules))


@cache  # a thousand runs of a cell ask for the same few
def _code_hash(modules: tuple[str, ...]) -> str:
    whole = hashlib.sha256(repr(versions()).encode())
    for file in imported_files(modules):
        whole.update(f"{shown(file)}\n{tree_hash(file)}\n".encode())
    _remember()
    return whole.hexdigest()


def shown(file: Path) -> str:
    """A file's path from the project's root, the same wherever the project lies."""
    file = file.resolve()
    for root in (*_FROZEN, PACKAGE.parent):
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return file.name


@cache
def versions() -> dict[str, str]:
    """Python and the libraries whose versions change numbers; those that are not installed are left out."""
    from importlib import metadata  # slow, and help needs it not

    found = {"Python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _files_of(module: str, importer: Path | None) -> list[Path]:
    """The file of a module and the `__init__` files above it; nothing for a name that is no module here.

    Any other name is looked for beside whoever imports it and in the project's root, as Python does.
    """
    top = module.partition(".")[0]
    if top == PACKAGE.name:
        return _search(module, (PACKAGE.parent,))
    if importer is None or top in sys.stdlib_module_names:
        return []
    return _search(module, (importer.parent, *(_FROZEN or [PACKAGE.parent])))


@cache  # most files import the same few modules
def _search(module: str, places: tuple[Path, ...]) -> list[Path]:
    parts = module.split(".")
    for place in places:
        steps = [place.joinpath(*parts[:i]) for i in range(1, len(parts) + 1)]
        files = [step / "__init__.py" for step in steps] + [steps[-1].with_suffix(".py")]
        if found := [file for file in files if file.is_file()]:
            return found
    return []


@cache
def imports_of(file: Path) -> tuple[str, ...]:
    """The names that a file's `import` statements have."""
    found: list[str] = []
    for level, module, names in derived(file, "imports", lambda: _imports(parsed(file))):
        if level:  # from . import x
            folders = file.resolve().relative_to(PACKAGE.parent).parts if file.is_relative_to(PACKAGE) else ()
            module = ".".join([*folders[: len(folders) - level], *filter(None, [module])])
        found += [name for name in [module, *(f"{module}.{name}".strip(".") for name in names)] if name]
    return tuple(found)


def _imports(tree: ast.Module) -> list[tuple[int, str, list[str]]]:
    """Every `import` statement: how many folders up, the module, and the names that are imported from it."""
    found: list[tuple[int, str, list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
    return found


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file; one that is no Python is a ValueError that names it."""
    try:
        return ast.parse(text_of(file), filename=str(file))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{shown(file)}: not Python: {' '.join(str(error).split())}") from error


@cache
def tree_hash(file: Path, without: tuple[str, ...] = ()) -> str:
    """SHA-256 of a file's code, without docstrings and, if asked for, without some names of its top level."""
    found: str = derived(file, " ".join(["tree", *without]), lambda: _hash_tree(parsed(file), without))
    return found


def _hash_tree(tree: Any, without: tuple[str, ...]) -> str:
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


def derived(file: Path, name: str, make: Callable[[], Any]) -> Any:
    """The JSON value called `name` that `make` computes from a file's text alone; a frozen process remembers it."""
    if not _FROZEN:
        return make()
    key = f"{hashlib.sha256(text_of(file)).hexdigest()} {name}"
    if key not in _MEMORY:
        _MEMORY[key] = make()
        _NEW.append(key)
    return _MEMORY[key]


def _recall(file: Path) -> None:
    """Read what other processes remembered; a file that is damaged, or of another Python, is as good as none."""
    with contextlib.suppress(OSError, ValueError):
        total, _, body = file.read_bytes().partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() == total:
            maker, values = json.loads(body)
            _MEMORY.update(values if maker == MAKER else {})


def _remember() -> None:
    """Write what is new, whole or not at all; what another process writes at the same time may be lost."""
    if _NEW:
        file = _FROZEN[0] / MEMORY
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        body = json.dumps([MAKER, dict(list(_MEMORY.items())[-MOST:])]).encode()
        with contextlib.suppress(OSError):  # a full disk, say
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            part.replace(file)
        _NEW.clear()
