"""`reports/README.md`: every suite with its latest report and its released versions, newest first.

Release a report: a copy of `latest/` under a version, outside DVC, never changed again.

A failure is a result and may be released. What may not is a report that does not tell of the project as it is: one with
stale cells or claims, of other parameters than those of now, or older than a build that failed.
"""

import re
import shutil
from pathlib import Path

from ebmbench.config.params import FILE
from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError
from ebmbench.report.results.staleness import describe_change, differences, first_few
from ebmbench.report.results.table import load_results, read_rows
from ebmbench.report.text.tables import markdown_table
from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.files import replacing

ABOUT = (
    "The latest report of each suite, and the released ones, which are never edited again. Written by "
    "`ebmbench report release`; `ebmbench compare reports/<suite>/<version>` says what has moved since a release. "
    "A *page* is the same report for a browser, in one file: download it, or open it in a clone."
)
PAGES = ("report.md", "claims.md")  # what a report is called: of cells, of claims
ORDER = ("a", "b", "rc", "", "post")


def write_index(root: Path) -> Path:
    """List what is there and return the page."""
    page = root / "reports" / "README.md"
    suites = [folder for folder in sorted(page.parent.iterdir()) if versions(folder)]
    rows = [[f"`{folder.name}`", *_links(folder)] for folder in suites]
    table = markdown_table(["suite", "latest", "released"], rows, left=3)
    with replacing(page) as temporary:
        temporary.write_text(f"# Reports\n\n{ABOUT}\n\n{table}\n", encoding="utf-8", newline="\n")
    return page


def versions(suite: Path) -> list[str]:
    """The folders of a suite that hold a report, `latest` first, then by number from the newest."""
    found = [file.parent.name for page in PAGES for file in suite.glob(f"*/{page}")]
    return ["latest"] * ("latest" in found) + released(suite)


def released(suite: Path) -> list[str]:
    """The released versions of a suite, from the newest."""
    files = [file for page in PAGES for file in suite.glob(f"[!.]*/{page}")]
    found = {file.parent.name for file in files} - {"latest"}
    return sorted(found, key=_age, reverse=True)


def _age(version: str) -> tuple[list[int], int, list[int]]:
    """Its numbers, then where it stands to the release of these: 1.0a1 < 1.0b1 < 1.0rc1 < 1.0 < 1.0.post1."""
    stage = re.search(r"(a|b|rc|post)\d+$", version)
    numbers, rest = (version[: stage.start()], stage[0]) if stage else (version, "")
    return _numbers(numbers), ORDER.index(stage[1] if stage else ""), _numbers(rest)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def _links(suite: Path) -> list[str]:
    names = versions(suite)
    links = {name: f"[{name}]({suite.name}/{name}/{_text(suite / name)}){_page(suite / name)}" for name in names}
    return [links.pop("latest", "–"), " · ".join(links.values()) or "–"]


def _text(report: Path) -> str:
    return next(page for page in PAGES if (report / page).is_file())


def _page(report: Path) -> str:
    """A link to the page; reports before 0.4.0 have none."""
    there = (report / "index.html").is_file()
    return f" ([page]({report.parent.name}/{report.name}/index.html))" if there else ""


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
