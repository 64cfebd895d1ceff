"""One side of a comparison: a report's numbers and parameters, from a folder or from a Git revision.

A revision is read through DVC, `DVCFileSystem`: what Git tracks and what DVC tracks, and nothing is checked out.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from ebmbench.core.errors import UserError
from ebmbench.core.params import FILE
from ebmbench.core.schema import read_yaml
from ebmbench.report.git import git
from ebmbench.report.results import load_results, parse_results

RESULTS = "results.csv"
WORKSPACE = "workspace"


@dataclass(frozen=True)
class Side:
    """What is compared. `params` is None and `commit` empty where they are not known."""

    name: str
    frame: pd.DataFrame
    params: dict[str, Any] | None
    commit: str

    @property
    def suite(self) -> str:
        """The suite of its rows."""
        return str(self.frame["suite"].iloc[0]) if len(self.frame) else ""


def open_side(root: Path, name: str, suite: str | None) -> Side:
    """`workspace`, a report's folder (or its `results.csv`), or a Git revision."""
    if name == WORKSPACE:
        return _workspace(root, suite)
    path = Path(name)
    if path.exists():
        return _folder(path)
    commit = git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if not commit:
        raise UserError(f"{name}: found neither a folder with {RESULTS} nor a Git revision of that name")
    return _revision(root, name, commit, suite)


def _workspace(root: Path, suite: str | None) -> Side:
    params = read_yaml(root / FILE)
    own = str(params["benchmark"]["suite"])
    frame = load_results(root / "reports" / (suite or own) / "latest")
    return Side(WORKSPACE, frame, params if suite in (None, own) else None, "")


def _folder(path: Path) -> Side:
    folder = path if path.is_dir() else path.parent
    frame = load_results(path)
    kept = folder / FILE
    return Side(folder.as_posix(), frame, read_yaml(kept) if kept.is_file() else None, _commit_of(folder))


def _revision(root: Path, name: str, commit: str, suite: str | None) -> Side:
    from dvc.api import DVCFileSystem

    files = DVCFileSystem(str(root), rev=commit)
    params = YAML(typ="safe").load(_read(files, FILE, name))
    own = str(params["benchmark"]["suite"])
    rows = _read(files, f"reports/{suite or own}/latest/{RESULTS}", name)
    return Side(name, parse_results(io.StringIO(rows)), params if suite in (None, own) else None, commit)


def _read(files: Any, path: str, revision: str) -> str:
    try:
        text: str = files.read_text(path, encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{revision}: found no {path} in that revision") from error
    return text


def _commit_of(folder: Path) -> str:
    """The commit that a report says it was made from, if it says so and nothing was changed."""
    report = folder / "report.md"
    lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    words = [line.split() for line in lines if line.startswith("| commit |")]
    return words[0][3] if words and len(words[0]) == 5 else ""
