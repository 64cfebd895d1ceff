"""`reports/README.md`: every suite with its latest report and its released versions, newest first."""

import re
from pathlib import Path

from ebmbench.core.files import replacing
from ebmbench.report.tables import markdown_table

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
