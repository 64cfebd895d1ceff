"""Compare two reports of claims: which verdicts changed, with the numbers of those claims."""

import csv
from pathlib import Path

from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError
from ebmbench.report.claims.text import format_statistic
from ebmbench.report.compare.sides import WORKSPACE, is_report, suite_of
from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.text.numbers import MISSING, plural
from ebmbench.report.text.tables import markdown_table
from ebmbench.workspace.layout import PARAMS_YAML, current_report, report_folder

VERDICTS = "verdicts.csv"
Row = dict[str, str]
Claims = dict[str, list[Row]]  # the rows of each claim, one for each criterion


def is_claims_report(folder: Path) -> bool:
    """Whether a folder holds a report of claims."""
    return (folder / VERDICTS).is_file()


def find_claims_reports(root: Path, before: str, after: str, suite: str | None) -> tuple[Path, Path] | None:
    """The folders to compare, or None if neither side is a report of claims."""
    if is_claims_report(root / before):
        present = current_report(root, (root / before).parent.name)
        return root / before, present if after == WORKSPACE else root / after
    if is_report(root / before):
        return None
    suite = suite or suite_of(read_yaml(root / PARAMS_YAML), PARAMS_YAML)
    latest = is_claims_report(report_folder(root, suite)) and WORKSPACE in (before, after)
    if latest or is_claims_report(root / after):
        raise UserError(f"'{before}': of claims only folders are compared, allowed: one such as reports/claims/latest")
    return None


def compare_claims(before: Path, after: Path) -> tuple[str, str]:
    """The outcome in one line, and the whole page."""
    old, new = _read(before), _read(after)
    both = [name for name in new if name in old and _verdict(new[name]) not in ("stale", NOT_RUN)]
    changed = [name for name in both if _verdict(old[name]) != _verdict(new[name])]
    line = f"{plural(len(changed), 'verdict')} of {len(both)} changed"
    if changed:
        line += ": " + ", ".join(f"{name} ({_verdict(old[name])} → {_verdict(new[name])})" for name in changed)
    title = f"# ebmbench: claims, from `{before.name}` to `{after.name}`"
    parts = [title, f"**{line}.**", _table(changed, old, new), _one_sided(old, new)]
    return line, "\n\n".join(filter(None, parts)) + "\n"


def _read(folder: Path) -> Claims:
    if not is_claims_report(folder):
        raise UserError(f"{folder}: found no {VERDICTS}, so it is no report of claims")
    claims: Claims = {}
    for row in csv.DictReader((folder / VERDICTS).read_text(encoding="utf-8").splitlines()):
        claims.setdefault(row["claim"], []).append(row)
    return claims


def _table(changed: list[str], old: Claims, new: Claims) -> str:
    """The criteria of the claims that changed, with the means of both sides."""
    rows = []
    for name in changed:
        earlier = {row["statistic"]: row for row in old[name]}
        for row in new[name]:
            means = [_mean(earlier.get(row["statistic"], {})), _mean(row)]
            rows.append([f"`{name}`", row["statistic"], row["rule"], *means, row["criterion_verdict"]])
    header = ["claim", "statistic", "rule", "before", "after", "now"]
    return markdown_table(header, rows, left=3) if rows else ""


def _one_sided(old: Claims, new: Claims) -> str:
    parts = {"New": [name for name in new if name not in old], "Gone": [name for name in old if name not in new]}
    return "\n\n".join(f"{word}: {', '.join(f'`{name}`' for name in names)}." for word, names in parts.items() if names)


def _verdict(rows: list[Row]) -> str:
    return rows[0]["verdict"]


def _mean(row: Row) -> str:
    return format_statistic(float(row["mean"]), row.get("logarithm")) if row.get("mean") else MISSING
