"""The name is the key: `dsm` is `methods/dsm.py`. The folder *is* the list; there is no other.

Every file of a kind's folder is an entry and must define what `REQUIRED` lists; what entries share is in a subfolder.
What a file says of itself (the docstring's first line and constants as `PAPER`, `LINK`, `DIRECTION`) is read from its
syntax tree, so that listing and reporting import no torch, and a stage imports the one method it runs and no other.
"""

import ast
import importlib
import re
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ebmbench.errors import UserError, in_words, nearest
from ebmbench.workspace.code_hash import PACKAGE, text_of

# What a file must define, by kind. Data are chosen by their path: a file without a paper is the user's own dataset.
REQUIRED: dict[str, tuple[str, ...]] = {
    "methods": ("PAPER", "YEAR", "Settings", "Method"),
    "data": (),
    "metrics": ("PAPER", "YEAR", "DIRECTION", "compute"),
    "samplers": ("PAPER", "YEAR", "Settings"),
    "models": ("PAPER", "YEAR", "Settings", "Model"),
    "baselines": ("PAPER", "YEAR", "subject"),
    "claims": ("PAPER", "YEAR", "CLAIM", "measure", "statistics", "draw"),
}
KINDS = tuple(REQUIRED)
ADDRESS = re.compile(r"https?://[^\s()<>]+")  # brackets would end a link in Markdown; write %28 and %29
# What decides on data on which the main metric cannot exist (KL needs a known density), the best first.
STAND_INS = ("log_likelihood", "sliced_wasserstein", "mmd")


@dataclass(frozen=True)
class Entry:
    """What a file says of itself.

    `links` are addresses of the papers that `paper` names between semicolons, in that order (`LINK`, one or several).
    Of metrics, `direction` is "lower", "higher" or, of diagnostics, "none", `samples` says whether it judges samples
    (`SAMPLES = True`), each kind of them apart, and `gap` names the metric that decides in its stead who is bold
    (`GAP`). Of methods, `remark` is what a reader of results must know (`REMARK`), `remarks` what he must know only
    where a setting is neither zero, false nor null, by its key (`REMARK_IF`), and `published` are published values
    by a setting of the method, which a sweep of that setting is shown beside (`PUBLISHED`). Of methods that tell data
    from noise, `noise` says from which (`NOISE`), `learns_z` whether log Z is learned beside the energy (`LEARNS_Z`),
    and `adversarial` whether the noise is trained against the energy (`ADVERSARIAL`).
    """

    name: str
    title: str
    paper: str
    year: int
    links: tuple[str, ...] = ()
    direction: str = ""
    samples: bool = False
    gap: str = ""
    remark: str = ""
    remarks: dict[str, str] = field(default_factory=dict)
    published: dict[str, Any] = field(default_factory=dict)
    noise: str = ""
    learns_z: bool = False
    adversarial: bool = False

    @property
    def citation(self) -> str:
        """The paper with its year."""
        return self.paper if not self.year or str(self.year) in self.paper else f"{self.paper}, {self.year}"


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind by name, in alphabetical order."""
    files = (file for file in sorted((PACKAGE / kind).glob("*.py")) if file.name != "__init__.py")
    found = (_read(file, REQUIRED[kind]) for file in files)
    return {entry.name: entry for entry in found if entry is not None}


def names(kind: str) -> list[str]:
    """The names of a kind's entries."""
    return list(entries(kind))


def describe(kind: str, name: str) -> Entry:
    """The entry of that name; a `UserError` with the nearest name if there is none."""
    if name not in entries(kind):
        raise UserError(f"ebmbench/{kind}: found '{name}', {nearest(name, entries(kind))}")
    return entries(kind)[name]


def choose_main_metric(main: str, found: Container[str]) -> str:
    """The metric that decides on a dataset: the suite's, or the best stand-in if only that is found there."""
    return next((name for name in (main, *STAND_INS) if name in found), main)


def load(kind: str, name: str) -> ModuleType:
    """Import the one module that `name` stands for."""
    return importlib.import_module(f"ebmbench.{kind}.{describe(kind, name).name}")


def _read(file: Path, required: tuple[str, ...]) -> Entry | None:
    """What a file says of itself; None for a dataset without a paper."""
    tree = _tree(file)
    constants = dict(pair for node in tree.body if (pair := _constant(node)) is not None)
    if missing := [name for name in required if name not in constants.keys() | _defined(tree)]:
        raise UserError(f"{_shown(file)}: found no {', '.join(missing)}, allowed: a file with {', '.join(required)}")
    if "PAPER" not in constants:
        return None
    title = (ast.get_docstring(tree) or file.stem).splitlines()[0].rstrip(".")
    return Entry(
        name=file.stem,
        title=title,
        paper=str(constants["PAPER"]),
        year=_year(file, constants.get("YEAR", 0)),
        links=_links(file, constants.get("LINK", ())),
        direction=str(constants.get("DIRECTION", "")),
        samples=bool(constants.get("SAMPLES", False)),
        gap=str(constants.get("GAP", "")),
        remark=str(constants.get("REMARK", "")),
        remarks=constants.get("REMARK_IF", {}),
        published=constants.get("PUBLISHED", {}),
        noise=str(constants.get("NOISE", "")),
        learns_z=bool(constants.get("LEARNS_Z", False)),
        adversarial=bool(constants.get("ADVERSARIAL", False)),
    )


def _tree(file: Path) -> ast.Module:
    """The syntax tree; a file that has none is named, for every list of its kind needs it."""
    try:
        return ast.parse(text_of(file).decode("utf-8"), filename=file.name)
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError) as error:  # ValueError: no UTF-8
        raise UserError(f"{_shown(file)}: found no Python ({in_words(error)}), allowed: Python in UTF-8") from error


def _year(file: Path, value: object) -> int:
    try:
        return int(str(value))
    except ValueError as error:
        raise UserError(f"{_shown(file)}: YEAR: found {value!r}, allowed: a whole number") from error


def _links(file: Path, value: object) -> tuple[str, ...]:
    links = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(link, str) and ADDRESS.fullmatch(link) for link in links):
        raise UserError(f"{_shown(file)}: LINK: found {value!r}, allowed: addresses that begin with https://")
    return links


def _shown(file: Path) -> str:
    return f"{PACKAGE.name}/{file.relative_to(PACKAGE).as_posix()}"


def _defined(tree: ast.Module) -> set[str]:
    """The names that a file's top level defines or imports; constants that must be literals are left out."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found - {"PAPER", "YEAR", "DIRECTION"}


def _constant(node: ast.stmt) -> tuple[str, Any] | None:
    """The name and value of `NAME = <literal>`; None for any other statement."""
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()):
        return None
    try:
        return node.targets[0].id, ast.literal_eval(node.value)
    except ValueError:
        return None
