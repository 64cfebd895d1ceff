"""One side of a comparison: a report's numbers and parameters, from a folder or from a Git revision.

Both sides are of one suite: the one that is told, else that of a report's folder, else that of `params.yaml` on the
later side. A report's own `params.yaml` is what its numbers were made with; reports before 0.3.0 keep none, and then
the project's is taken if it is of that suite.

A Git revision, read through DVC's file system: what Git tracks and what DVC tracks, and nothing is checked out.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from dvc.api import DVCFileSystem
from dvc.exceptions import DvcException

from ebmbench.config.params import FILE
from ebmbench.config.schema import read_yaml
from ebmbench.config.yaml import plain
from ebmbench.errors import UserError, nearest
from ebmbench.report.results.table import load_results, parse_results
from ebmbench.workspace.git import ask_git

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
        return str(self.frame["suite"].iloc[0])


def open_sides(root: Path, before: str, after: str, suite: str | None) -> tuple[Side, Side]:
    """Both sides, the earlier one first; a folder knows its suite and is asked before a revision."""
    first, second = (before, after) if is_report(root / before) else (after, before)
    one = open_side(root, first, suite)
    sides = {first: one, second: open_side(root, second, suite or one.suite)}
    for name, side in sides.items():
        if side.suite != (suite or one.suite):
            asked = f"'{suite}', by --suite" if suite else f"'{one.suite}', as {first} has"
            raise UserError(f"{name}: found suite '{side.suite}', allowed: {asked}")
    return sides[before], sides[after]


def open_side(root: Path, name: str, suite: str | None) -> Side:
    """`workspace`, a report's folder (or its results as a file), or a Git revision."""
    if name == WORKSPACE:
        side = _workspace(root, suite)
    elif is_report(root / name):
        side = _folder(root, name)
    else:
        side = _revision(root, name, suite)
    if side.frame.empty:
        raise UserError(f"{name}: found a report without any row, so there is nothing to compare")
    return side


def is_report(path: Path) -> bool:
    """A folder with results in it, or a file that should be such results."""
    return path.is_file() or (path / RESULTS).is_file()


def no_report(suite: str, others: list[str]) -> str:
    """The line for a suite without a report, with those that have one."""
    there = nearest(suite, others) if others else "and none of any other suite"
    return f"found no reports/{suite}/latest/{RESULTS}, {there}"


def own_suite(params: dict[str, Any], where: str) -> str:
    """The suite that a `params.yaml` names."""
    benchmark = params.get("benchmark")
    if not isinstance(benchmark, dict) or "suite" not in benchmark:
        raise UserError(f"{where}: benchmark.suite: found nothing, allowed: the name of a suite")
    return str(benchmark["suite"])


def _workspace(root: Path, suite: str | None) -> Side:
    params = read_yaml(root / FILE)
    own = own_suite(params, FILE)
    folder = root / "reports" / (suite or own) / "latest"
    if not is_report(folder):
        there = [found.parents[1].name for found in root.glob(f"reports/*/latest/{RESULTS}")]
        raise UserError(f"{WORKSPACE}: {no_report(suite or own, there)}")
    return Side(WORKSPACE, load_results(folder), _kept(folder) or (params if suite in (None, own) else None), "")


def _folder(root: Path, name: str) -> Side:
    path = root / name
    folder = path if path.is_dir() else path.parent
    return Side(Path(name).as_posix(), load_results(path), _kept(folder), _commit_of(folder))


def _revision(root: Path, name: str, suite: str | None) -> Side:

    commit = ask_git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else ""
    if not commit:
        what = f"a folder with {RESULTS} nor a Git revision of that name"
        raise UserError(f"'{name}': found neither {what}{_why(root, name)}")
    revision = Revision(root, name, commit)
    suite = suite or own_suite(revision.params(FILE) or {}, f"{name}: {FILE}")
    return Side(name, revision.results(suite), revision.params_of(suite), commit)


def _why(root: Path, name: str) -> str:
    """What a person may have meant."""
    reports = sorted(found.parent.name for found in (root / name).glob(f"*/{RESULTS}")) if name else []
    if reports:
        return f"; reports in it: {', '.join(reports)}"
    if not ask_git(root, "rev-parse", "--git-dir"):
        return "; this folder is in no Git repository"
    shallow = ask_git(root, "rev-parse", "--is-shallow-repository") == "true"
    return "; this clone is shallow, `git fetch --unshallow` brings the older commits" if shallow else ""


def _kept(folder: Path) -> dict[str, Any] | None:
    return read_yaml(folder / FILE) if (folder / FILE).is_file() else None


def _commit_of(folder: Path) -> str:
    """The commit that a report says it was made from, if it says so and nothing was changed."""
    report = folder / "report.md"
    lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    words = [line.split() for line in lines if line.startswith("| commit |")]
    return words[0][3] if words and len(words[0]) == 5 else ""


class Revision:
    """The files of one commit; `name` is what the user calls it."""

    def __init__(self, root: Path, name: str, commit: str) -> None:
        self.root, self.name, self.commit = root, name, commit
        try:
            self.files = DVCFileSystem(str(root), rev=commit)
        except DvcException as error:
            raise UserError(f"{name}: not readable through DVC: {' '.join(str(error).split())}") from error

    def results(self, suite: str) -> pd.DataFrame:
        """The numbers of the suite's latest report."""
        path = f"reports/{suite}/latest/results.csv"
        text = self._read(path)
        if text is None:
            raise UserError(f"{self.name}: {no_report(suite, self._suites())}")
        return parse_results(io.StringIO(text), f"{self.name}: {path}")

    def params_of(self, suite: str) -> dict[str, Any] | None:
        """The parameters of the suite's report, if it keeps them or if those of the project are of that suite."""
        if kept := self.params(f"reports/{suite}/latest/{FILE}"):
            return kept
        own = self.params(FILE)
        return own if own and own_suite(own, f"{self.name}: {FILE}") == suite else None

    def params(self, path: str) -> dict[str, Any] | None:
        """A YAML mapping, or None if there is no such file."""
        text = self._read(path)
        if text is None:
            return None
        try:
            value = plain(text)
        except ValueError as error:
            raise UserError(f"{self.name}: {path}: not readable: {' '.join(str(error).split())[:300]}") from error
        return value if isinstance(value, dict) else {}

    def _read(self, path: str) -> str | None:
        try:
            text: str = self.files.read_text(path, encoding="utf-8")
        except FileNotFoundError:
            return None
        except (DvcException, OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.name}: {path}: not readable: {' '.join(str(error).split())}") from error
        return text

    def _suites(self) -> list[str]:
        """The suites that have a report in that revision."""
        found = ask_git(self.root, "ls-tree", "-r", "--name-only", self.commit, "--", "reports").splitlines()
        parts = [Path(path).parts for path in found]
        return [part[1] for part in parts if part[2:] == ("latest", "results.csv")]
