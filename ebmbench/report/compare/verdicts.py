"""Two reports of claims beside each other: which verdicts changed, and the numbers of those that did."""

import csv
from pathlib import Path

from ebmbench.config.params import FILE
from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError
from ebmbench.report.claims.text import number
from ebmbench.report.compare.sides import WORKSPACE, is_report, own_suite
from ebmbench.report.text.escaping import cell
from ebmbench.report.text.numbers import plural
from ebmbench.report.text.tables import markdown_table

VERDICTS = "verdicts.csv"
Row = dict[str, str]


def has_verdicts(folder: Path) -> bool:
    """Whether a folder holds a report of claims."""
    return (folder / VERDICTS).is_file()


def claims_page(root: Path, before: str, after: str, suite: str | None) -> str | None:
    """What `ebmbench compare` says of two reports of claims; None where neither side is one."""
    if has_verdicts(root / before):
        later = Path(before).parent / "latest" if after == WORKSPACE else Path(after)
        return verdict_changes(root / before, root / later)[1]
    if is_report(root / before):
        return None
    suite = suite or own_suite(read_yaml(root / FILE), FILE)
    latest = has_verdicts(root / "reports" / suite / "latest") and WORKSPACE in (before, after)
    if latest or has_verdicts(root / after):
        raise UserError(f"'{before}': of claims only folders are compared, allowed: one such as reports/claims/0.7.0")
    return None


def verdict_changes(before: Path, after: Path) -> tuple[str, str]:
    """The outcome in a line, and the page."""
    old, new = _read(before), _read(after)
    both = [name for name in new if name in old]
    changed = [name for name in both if _verdict(old[name]) != _verdict(new[name])]
    line = f"{plural(len(changed), 'verdict')} of {len(both)} changed"
    if changed:
        line += ": " + ", ".join(f"{name} ({_verdict(old[name])} → {_verdict(new[name])})" for name in changed)
    title = f"# ebmbench: claims, from `{before.name}` to `{after.name}`"
    parts = [title, f"**{line}.**", _table(changed, old, new), _one_sided(old, new)]
    return line, "\n\n".join(filter(None, parts)) + "\n"


def _table(changed: list[str], old: dict[str, list[Row]], new: dict[str, list[Row]]) -> str:
    """The criteria of the claims that changed, with the means of both sides."""
    rows = []
    for name in changed:
        was = {row["statistic"]: row for row in old[name]}
        for row in new[name]:
            then = was.get(row["statistic"], {})
            means = [_mean(then), _mean(row)]
            rows.append([f"`{name}`", row["statistic"], row["rule"], *means, row["criterion_verdict"]])
    header = ["claim", "statistic", "rule", "before", "after", "now"]
    return markdown_table(header, [[cell(text) for text in row] for row in rows], left=3) if rows else ""


def _one_sided(old: dict[str, list[Row]], new: dict[str, list[Row]]) -> str:
    parts = [("New", [name for name in new if name not in old]), ("Gone", [name for name in old if name not in new])]
    return "\n\n".join(f"{word}: {', '.join(f'`{name}`' for name in names)}." for word, names in parts if names)


def _read(folder: Path) -> dict[str, list[Row]]:
    """The rows of each claim, in the order of the file."""
    if not has_verdicts(folder):
        raise UserError(f"{folder}: found no {VERDICTS}, so it is no report of claims")
    found: dict[str, list[Row]] = {}
    for row in csv.DictReader((folder / VERDICTS).read_text(encoding="utf-8").splitlines()):
        found.setdefault(row["claim"], []).append(row)
    return found


def _verdict(rows: list[Row]) -> str:
    return rows[0]["verdict"]


def _mean(row: Row) -> str:
    return number(float(row["mean"])) if row.get("mean") else "–"
