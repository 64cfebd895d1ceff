"""A Git revision, read through DVC's file system: what Git tracks and what DVC tracks, and nothing is checked out."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
from dvc.api import DVCFileSystem
from dvc.exceptions import DvcException

from ebmbench.compare.side import no_report, own_suite
from ebmbench.core.errors import UserError
from ebmbench.core.params import FILE
from ebmbench.core.plain import plain
from ebmbench.report.git import git
from ebmbench.report.results import parse_results


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
        found = git(self.root, "ls-tree", "-r", "--name-only", self.commit, "--", "reports").splitlines()
        parts = [Path(path).parts for path in found]
        return [part[1] for part in parts if part[2:] == ("latest", "results.csv")]
