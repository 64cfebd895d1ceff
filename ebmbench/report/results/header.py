"""The first line of a report, which says what it is of: version, commit, suite, and whether it is full.

    ebmbench 0.9.0 · commit `3f2a91c` of 2026-11-18 · suite `quick` · full report: 14 of 14 cells

A report is *full* if every cell of the suite was run and is not stale, with the values that the suite's file gives.
Failed cells count: a failure is a result. Older reports have no such line and count as full.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ebmbench.workspace.layout import LATEST, PAGES, REPORTS, SUITES

LINE = re.compile(r"^ebmbench (?P<version>\S+) · .* · (?P<extent>full|partial|edited) report: ", re.MULTILINE)
SHOWN = 3  # of the values that were edited


@dataclass(frozen=True)
class Header:
    """What a report is of. `missing` counts cells (or claims) that were not run or are stale, by that word.

    `commit` may end in a remark about uncommitted changes; `date` is the commit's. `edits` are keys of `params.yaml`.
    """

    version: str
    suite: str
    cells: int
    commit: str = ""
    date: str = ""
    missing: Sequence[tuple[str, int]] = ()
    edits: Sequence[str] = ()
    noun: str = "cell"

    @property
    def extent(self) -> str:
        """`full`, `partial` or `edited`."""
        return "partial" if self.missing else "edited" if self.edits else "full"

    @property
    def line(self) -> str:
        """The line as Markdown."""
        done = self.cells - sum(count for _, count in self.missing)
        lost = "".join(f", {count} {word}" for word, count in self.missing)
        extent = f"{self.extent} report: {done} of {self.cells} {self.noun}s{lost}{self._edits()}"
        return " · ".join([f"ebmbench {self.version}", self._commit(), f"suite `{self.suite}`", extent])

    def _commit(self) -> str:
        sha, _, remark = self.commit.partition(" ")
        if not re.fullmatch("[0-9a-f]{40}", sha):
            return "no Git commit"
        return f"commit `{sha[:7]}` of {self.date}" + (f" {remark}" if remark else "")

    def _edits(self) -> str:
        if not self.edits:
            return ""
        more = len(self.edits) - SHOWN
        names = ", ".join(f"`{key}`" for key in self.edits[:SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"; edited, not as in `{SUITES}/{self.suite}.yaml`: {names}"


def report_version(folder: Path) -> str:
    """The version of ebmbench that wrote the report in a folder; empty if the report does not say."""
    found = _find_line(folder)
    return found["version"] if found else ""


def current_version() -> str:
    """The version of ebmbench that is installed."""
    from importlib import metadata  # slow, and help needs it not

    try:
        return metadata.version("ebmbench")
    except metadata.PackageNotFoundError:
        return "unknown"


def describe_outdated(root: Path, suite: str = "*") -> str:
    """One line that names the latest reports (of a suite) that another version wrote; empty if there are none."""
    folders = sorted({page.parent for name in PAGES for page in (root / REPORTS).glob(f"{suite}/{LATEST}/{name}")})
    found = {folder.relative_to(root).as_posix(): report_version(folder) for folder in folders}
    older = [f"{name} ({version or 'no version'})" for name, version in found.items() if version != current_version()]
    return f"not by ebmbench {current_version()}: {', '.join(older)}" if older else ""


def is_full(folder: Path) -> bool:
    """Whether a folder has a report of a whole suite, with the suite's own values."""
    found = _find_line(folder)
    return found["extent"] == "full" if found else any((folder / page).is_file() for page in PAGES)


def _find_line(folder: Path) -> re.Match[str] | None:
    pages = [folder / page for page in PAGES if (folder / page).is_file()]
    return LINE.search(pages[0].read_text(encoding="utf-8")[:2000]) if pages else None
