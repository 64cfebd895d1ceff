"""The two sides of a comparison: each is a report with its numbers and parameters.

A side is the workspace, a report's folder, or a Git revision, which DVC reads without checking it out. Both sides must
belong to one suite: the one of `--suite`, else that of a report's folder, else that of `params.yaml` on the later
side. The parameters of a report are in its own `params.yaml`. Reports before 0.3.0 have none; for them the project's
`params.yaml` counts, if it is of the same suite.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from dvc.api import DVCFileSystem
from dvc.exceptions import DvcException

from ebmbench.config.schema import read_yaml
from ebmbench.config.yaml import plain
from ebmbench.errors import UserError, nearest
from ebmbench.report.results.table import load_results, parse_results
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import LATEST, PARAMS_YAML, REPORTS, current_report, report_folder

RESULTS = "results.csv"
WORKSPACE = "workspace"
Params = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """A report to compare; `params` is None and `commit` is empty if they are unknown."""

    name: str
    frame: pd.DataFrame
    params: Params | None
    commit: str

    @property
    def suite(self) -> str:
        """The suite of its rows."""
        return str(self.frame["suite"].iloc[0])


def read_sides(root: Path, before: str, after: str, suite: str | None) -> tuple[Side, Side]:
    """Read both sides, a report's folder first, because it names the suite of the other side."""
    first, second = (before, after) if is_report(root / before) else (after, before)
    one = _read_side(root, first, suite)
    sides = {first: one, second: _read_side(root, second, suite or one.suite)}
    for name, side in sides.items():
        if side.suite != (suite or one.suite):
            allowed = f"'{suite}', by --suite" if suite else f"'{one.suite}', as {first} has"
            raise UserError(f"{name}: found suite '{side.suite}', allowed: {allowed}")
    return sides[before], sides[after]


def is_report(path: Path) -> bool:
    """Whether the path is a folder with results, or a file that should hold results."""
    return path.is_file() or (path / RESULTS).is_file()


def suite_of(params: Params, source: str) -> str:
    """The suite that a `params.yaml` names; `source` is where it was read, for the error message."""
    benchmark = params.get("benchmark")
    if not isinstance(benchmark, dict) or "suite" not in benchmark:
        raise UserError(f"{source}: benchmark.suite: found nothing, allowed: the name of a suite")
    return str(benchmark["suite"])


def _read_side(root: Path, name: str, suite: str | None) -> Side:
    if name == WORKSPACE:
        side = _read_workspace(root, suite)
    elif is_report(root / name):
        side = _read_folder(root, name)
    else:
        side = _read_revision(root, name, suite)
    if side.frame.empty:
        raise UserError(f"{name}: found a report without any row, so there is nothing to compare")
    return side


def _read_workspace(root: Path, suite: str | None) -> Side:
    params = read_yaml(root / PARAMS_YAML)
    own = suite_of(params, PARAMS_YAML)
    folder = current_report(root, suite or own)
    if not is_report(folder):
        suites = [results.parents[1].name for results in root.glob(f"{REPORTS}/*/{LATEST}/{RESULTS}")]
        raise _missing_report(WORKSPACE, suite or own, suites)
    return Side(WORKSPACE, load_results(folder), _params_in(folder) or (params if suite in (None, own) else None), "")


def _read_folder(root: Path, name: str) -> Side:
    path = root / name
    folder = path if path.is_dir() else path.parent
    return Side(Path(name).as_posix(), load_results(path), _params_in(folder), _commit_in(folder))


def _params_in(folder: Path) -> Params | None:
    return read_yaml(folder / PARAMS_YAML) if (folder / PARAMS_YAML).is_file() else None


def _commit_in(folder: Path) -> str:
    """The commit in the report's provenance; empty if there is none, or if it had uncommitted changes."""
    report = folder / "report.md"
    lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    words = [line.split() for line in lines if line.startswith("| commit |")]
    return words[0][3] if words and len(words[0]) == 5 else ""


def _read_revision(root: Path, name: str, suite: str | None) -> Side:
    commit = ask_git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else ""
    if not commit:
        expected = f"a folder with {RESULTS} nor a Git revision of that name"
        raise UserError(f"'{name}': found neither {expected}{_hint(root, name)}")
    revision = _Revision(root, name, commit)
    suite = suite or suite_of(revision.read_params(PARAMS_YAML) or {}, f"{name}: {PARAMS_YAML}")
    return Side(name, revision.read_results(suite), revision.read_report_params(suite), commit)


def _hint(root: Path, name: str) -> str:
    """What may be wrong with a name that is neither a report nor a revision."""
    reports = sorted(results.parent.name for results in (root / name).glob(f"*/{RESULTS}")) if name else []
    if reports:
        return f"; reports in it: {', '.join(reports)}"
    if not ask_git(root, "rev-parse", "--git-dir"):
        return "; this folder is in no Git repository"
    shallow = ask_git(root, "rev-parse", "--is-shallow-repository") == "true"
    return "; this clone is shallow, `git fetch --unshallow` brings the older commits" if shallow else ""


def _missing_report(name: str, suite: str, others: list[str]) -> UserError:
    """The error for a suite without a report; it names the suites that have one."""
    allowed = nearest(suite, others) if others else "and none of any other suite"
    return UserError(f"{name}: found no reports/{suite}/latest/{RESULTS}, {allowed}")


class _Revision:
    """The files of one commit, read through DVC; `name` is what the user typed."""

    def __init__(self, root: Path, name: str, commit: str) -> None:
        self.root, self.name, self.commit = root, name, commit
        try:
            self.files = DVCFileSystem(str(root), rev=commit)
        except DvcException as error:
            raise UserError(f"{name}: not readable through DVC: {' '.join(str(error).split())}") from error

    def read_results(self, suite: str) -> pd.DataFrame:
        """The numbers of the suite's latest report."""
        path = (report_folder(Path(), suite) / RESULTS).as_posix()
        text = self._read(path)
        if text is None:
            raise _missing_report(self.name, suite, self._suites())
        return parse_results(io.StringIO(text), f"{self.name}: {path}")

    def read_report_params(self, suite: str) -> Params | None:
        """The parameters of the suite's latest report, else the project's if they are of this suite."""
        if params := self.read_params((report_folder(Path(), suite) / PARAMS_YAML).as_posix()):
            return params
        project = self.read_params(PARAMS_YAML)
        return project if project and suite_of(project, f"{self.name}: {PARAMS_YAML}") == suite else None

    def read_params(self, path: str) -> Params | None:
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
        """The suites that have a latest report in this revision."""
        paths = ask_git(self.root, "ls-tree", "-r", "--name-only", self.commit, "--", REPORTS).splitlines()
        parts = [Path(path).parts for path in paths]
        return [part[1] for part in parts if part[2:] == (LATEST, RESULTS)]
