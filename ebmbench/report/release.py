"""Release a report: a copy of `latest/` under a version, outside DVC, never changed again."""

import re
import shutil
from pathlib import Path

from ebmbench.core.errors import UserError
from ebmbench.report.index import PAGES, write_index

NUMBER = "[0-9]{1,9}"  # not \d, which has the digits of every script
VERSION = re.compile(rf"v?{NUMBER}(\.{NUMBER}){{0,3}}([.-]?(a|b|rc|post){NUMBER})?")


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
    copy = latest.with_name(f".{version}.new")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(latest, copy)
    copy.rename(target)
    write_index(root)
    return target
