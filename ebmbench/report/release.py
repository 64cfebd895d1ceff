"""Release a report: a copy of `latest/` under a version, outside DVC, never changed again.

A failure is a result and may be released. What may not is a report that does not tell of the project as it is: one with
stale cells or claims, of other parameters than those of now, or older than a build that failed.
"""

import re
import shutil
from pathlib import Path

from ebmbench.core.errors import UserError
from ebmbench.core.failures import failure_of
from ebmbench.core.params import FILE
from ebmbench.core.schema import read_yaml
from ebmbench.report.index import PAGES, write_index
from ebmbench.report.results import load_results, read_rows
from ebmbench.report.staleness import describe_change, differences, first_few

NUMBER = "[0-9]{1,9}"  # not \d, which has the digits of every script
VERSION = re.compile(rf"v?{NUMBER}(\.{NUMBER}){{0,3}}([.-]?(a|b|rc|post){NUMBER})?")
ANEW = "`ebmbench run`, then `ebmbench report`, bring it up to date"


def release(root: Path, suite: str, version: str) -> Path:
    """Copy `reports/<suite>/latest/` to `reports/<suite>/<version>/`, list it, and return that folder."""
    if not VERSION.fullmatch(version):
        raise UserError(f"version: found '{version}', allowed: numbers with points, as 0.1.0, 2026.11 or v1")
    latest = root / "reports" / suite / "latest"
    target = latest.with_name(version)
    if not any((latest / page).is_file() for page in PAGES):
        raise UserError(f"{latest}: no report to release; `ebmbench run` writes it")
    if target.exists():
        raise UserError(f"{target}: exists already; a released report is never changed, choose another version")
    _check_params(latest / FILE, root / FILE)
    _check_stale(latest)
    if failed := failure_of(root, "report"):
        raise UserError(f"{latest}: older than a build that failed ({failed}); `ebmbench report` builds it anew")
    copy = latest.with_name(f".{version}.new")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(latest, copy)
    copy.rename(target)
    write_index(root)
    return target


def _check_params(kept: Path, own: Path) -> None:
    """Refuse a report that was built with other values than the project has now; where cells run changes no number."""
    if not kept.is_file():
        raise UserError(f"{kept}: not found, so nobody can tell what the report was built with; {ANEW}")
    before, now = ({**read_yaml(file), "resources": None} for file in (kept, own))
    if found := first_few(describe_change(*one) for one in differences(before, now)):
        raise UserError(f"{kept}: found other parameters than in {own.name}: {found}; {ANEW}")


def _check_stale(latest: Path) -> None:
    """Refuse numbers and verdicts that are not those of the present parameters, files and code."""
    found: list[str] = []
    if (latest / "results.csv").is_file():
        frame = load_results(latest)
        cells = frame.loc[frame["status"] == "stale", ["dataset", "method"]]
        found += ["/".join(cell) for cell in cells.itertuples(index=False, name=None)]
    if (latest / "verdicts.csv").is_file():
        found += [row["claim"] for row in read_rows(latest / "verdicts.csv") if row["verdict"] == "stale"]
    if found:
        raise UserError(f"{latest}: found stale results ({first_few(found)}), allowed: none that is stale; {ANEW}")
