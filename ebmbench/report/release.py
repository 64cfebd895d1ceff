"""Release a report: copy `latest/` to a folder named after the version, and list it in `reports/README.md`.

A released report is never changed. A failure is a result, so a report with failed cells may be released. A report that
does not describe the present project is refused: one with cells or claims that are stale or were not run, one with
edited or other parameters, and one that is older than a failed build.
"""

import re
from pathlib import Path

from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError
from ebmbench.report.index import write_index
from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.results.header import is_full
from ebmbench.report.results.staleness import describe_change, differences, first_few
from ebmbench.report.results.table import load_results, read_rows
from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.files import copy_folder
from ebmbench.workspace.layout import PAGES, PARAMS_YAML, REPORT, current_report, report_folder

NUMBER = "[0-9]{1,9}"  # not \d, which matches the digits of every script
VERSION = re.compile(rf"v?{NUMBER}(\.{NUMBER}){{0,3}}([.-]?(a|b|rc|post){NUMBER})?")
UPDATE = "`ebmbench run`, then `ebmbench report`, bring it up to date"


def release(root: Path, suite: str, version: str) -> Path:
    """Copy `reports/<suite>/latest/` to `reports/<suite>/<version>/`, list it, and return that folder."""
    if not VERSION.fullmatch(version):
        raise UserError(f"version: found '{version}', allowed: numbers with points, as 0.1.0, 2026.11 or v1")
    latest = report_folder(root, suite)
    target = latest.with_name(version)
    if not any((latest / page).is_file() for page in PAGES):
        raise UserError(f"{latest}: no report to release; `ebmbench run` writes it")
    if target.exists():
        raise UserError(f"{target}: exists already; a released report is never changed, choose another version")
    _check_params(latest / PARAMS_YAML, root / PARAMS_YAML)
    _check_cells(latest)
    if (present := current_report(root, suite)) != latest or not is_full(latest):
        raise UserError(f"{present}: found a partial or edited report, allowed: a full one; {UPDATE}")
    if failure := failure_of(root, suite, REPORT):
        raise UserError(f"{latest}: older than a build that failed ({failure}); `ebmbench report` builds it anew")
    copy_folder(latest, target)
    write_index(root)
    return target


def _check_params(built: Path, project: Path) -> None:
    """Refuse a report that was built with other values than the project has now; `resources` change no number."""
    if not built.is_file():
        raise UserError(f"{built}: not found, so nobody can tell what the report was built with; {UPDATE}")
    before, now = ({**read_yaml(file), "resources": None} for file in (built, project))
    if changes := first_few(describe_change(*one) for one in differences(before, now)):
        raise UserError(f"{built}: found other parameters than in {project.name}: {changes}; {UPDATE}")


def _check_cells(latest: Path) -> None:
    """Refuse numbers and verdicts of other parameters, files or code than the present ones, and a part of a suite."""
    found: dict[str, list[str]] = {"stale": [], NOT_RUN: []}
    if (latest / "results.csv").is_file():
        rows = load_results(latest)[["dataset", "method", "status"]].drop_duplicates()
        for dataset, method, status in rows.itertuples(index=False, name=None):
            found.get(status, []).append(f"{dataset}/{method}")
    if (latest / "verdicts.csv").is_file():
        for row in read_rows(latest / "verdicts.csv"):
            found.get(row["verdict"], []).append(row["claim"])
    for word, names in found.items():
        if names:
            raise UserError(f"{latest}: found {word}: {first_few(names)}, allowed: none; {UPDATE}")
