"""What has moved since the last release: the latest report of a suite beside its newest released one.

The page is `reports/<suite>/comparison.md`, beside `latest/` and not in it: `latest/` is an output of DVC, and a file
that another wrote there would make it stale. Git ignores the page: both reports are in Git, so anyone can write it
again (`ebmbench compare reports/<suite>/<version>` prints the same), and it would change with every run.
"""

from dataclasses import dataclass
from pathlib import Path

from ebmbench.compare.endings import endings
from ebmbench.compare.markdown import headline, page
from ebmbench.compare.moves import moves
from ebmbench.compare.side import WORKSPACE, open_sides
from ebmbench.compare.verdicts import has_verdicts, verdict_changes
from ebmbench.core.files import write_text
from ebmbench.report.index import released
from ebmbench.report.prose import plural

FILE = "comparison.md"


@dataclass(frozen=True)
class Since:
    """The page, relative to the project, and its outcome in one line."""

    path: str
    line: str


def since_release(root: Path, suite: str) -> Since | None:
    """Write the page; None, and no page, if the suite has no released report."""
    folder = Path("reports", suite)
    path = folder / FILE
    (root / path).unlink(missing_ok=True)  # an old page must not pass for this one
    versions = released(root / folder)
    if not versions:
        return None
    newest = root / folder / versions[0]
    if has_verdicts(newest):
        line, text = verdict_changes(newest, root / folder / "latest")
        write_text(root / path, text)
        return Since(path.as_posix(), f"since {versions[0]}: {line} ({path.as_posix()})")
    before, after = open_sides(root, (folder / versions[0]).as_posix(), WORKSPACE, suite)
    found = moves(before.frame, after.frame)
    write_text(root / path, page(root, before, after, found))
    otherwise = len(endings(before.frame, after.frame))
    also = f", runs of {plural(otherwise, 'cell')} ended otherwise" if otherwise else ""
    return Since(path.as_posix(), f"since {versions[0]}: {headline(found)}{also} ({path.as_posix()})")
