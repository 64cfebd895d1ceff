"""What reports there are: version, commit and processor of each, its runs and their time, and earlier releases."""

import re
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ebmbench.report.results.cells import LOST
from ebmbench.report.results.header import current_version, report_version
from ebmbench.report.results.table import load_results, read_rows
from ebmbench.report.results.verdicts import rows_of_methods
from ebmbench.report.text.numbers import MISSING, plural
from ebmbench.report.text.tables import markdown_table
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import DRAFT, LATEST, PAGES, REPORTS

GONE = (
    "They have left the tree. The commit of each has it, and has it as the latest report of its suite too. "
    "`git archive COMMIT PATH | tar x` brings the folder back. `ebmbench compare COMMIT --suite SUITE` says what has "
    "moved since; of claims, bring the folder back and run `ebmbench compare PATH`."
)
COSTS = ("commit", "processor", "runs, and the time of one core")
RELEASES = "releases.csv"  # suite, version, commit
COMMIT = re.compile(r"^\| commit \| ([0-9a-f]{40})\b", re.MULTILINE)
PROCESSOR = re.compile(r"^\| processor \| (.+) \|$", re.MULTILINE)
PROJECT_VERSION = re.compile(r'^version = "(.+)"', re.MULTILINE)


def list_reports(root: Path) -> str:
    """Every suite with its latest report, what that took, and the releases that are in the tree."""
    rows = []
    for suite in sorted((root / REPORTS).iterdir()):
        pages = {name: page for name in [LATEST, *list_releases(suite)] if (page := _page(suite / name))}
        links = {name: f"[{name}]({page.relative_to(root / REPORTS).as_posix()})" for name, page in pages.items()}
        latest = links.pop(LATEST, MISSING)
        version = describe_version(root, pages[LATEST]) if LATEST in pages else MISSING
        if pages and suite.name != "tuning":  # searches are no suites
            released = " · ".join(links.values()) or MISSING
            rows.append([f"`{suite.name}`", latest, version, *_describe_runs(suite / LATEST), released])
    header = ["suite", "report", "version", "released"]
    return markdown_table([*header[:3], *COSTS, header[3]], rows, left=7)


def _page(folder: Path) -> Path | None:
    return next((folder / page for page in PAGES if (folder / page).is_file()), None)


def _describe_runs(folder: Path) -> list[str]:
    """Where a report was made, from which commit, how many runs it has, and their time with the baselines'."""
    page = _page(folder)
    text = page.read_text(encoding="utf-8") if page else ""
    found = [pattern.search(text) for pattern in (COMMIT, PROCESSOR)]
    place = [f"`{found[0][1][:7]}`" if found[0] else MISSING, found[1][1] if found[1] else MISSING]
    if not (folder / "results.csv").is_file():
        return [*place, MISSING]  # claims: their runs are not timed
    frame = load_results(folder).drop_duplicates(["dataset", "method", "label"])
    frame = frame[~frame["status"].isin(LOST)]
    hours = frame[[f"seconds_{step}" for step in ("train", "sample", "evaluate")]].sum().sum() / 3600
    return [*place, f"{plural(len(rows_of_methods(frame)), 'run')}, {hours:.1f} h"]


def list_former_releases(file: Path) -> str:
    """Releases that have left the tree."""
    rows = [
        [f"`{row['suite']}`", row["version"], f"`{row['commit'][:10]}`", f"`reports/{row['suite']}/{row['version']}`"]
        for row in read_rows(file)
    ]
    return markdown_table(["suite", "version", "commit", "path"], rows, left=4)


def list_releases(suite: Path) -> list[str]:
    """The released versions of a suite, newest first; folders whose name is no version come last."""
    names = {file.parent.name for page in PAGES for file in suite.glob(f"[!.]*/{page}")}
    return sorted(names - {LATEST, DRAFT}, key=_age, reverse=True)


def _age(name: str) -> tuple[Version, str]:
    try:
        return Version(name), name
    except InvalidVersion:
        return Version("0.dev0"), name


def describe_version(root: Path, page: Path) -> str:
    """The version that made a report, with a mark if it is behind the present one."""
    version, own = report_version(page.parent) or _version_of_commit(root, page), current_version()
    if not version:
        return "unknown"
    return f"by {version}" + ("" if _age(version) >= _age(own) else f", *behind {own}*")


def _version_of_commit(root: Path, page: Path) -> str:
    """The project's version at the commit that an older report names; empty if it names none."""
    commit = COMMIT.search(page.read_text(encoding="utf-8"))
    found = PROJECT_VERSION.search(ask_git(root, "show", f"{commit[1]}:pyproject.toml")) if commit else None
    return found[1] if found else ""
