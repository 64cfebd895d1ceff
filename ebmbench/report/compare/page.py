"""The sections of a comparison as Markdown: each is text, or empty if there is nothing to tell.

The comparison as Markdown: the outcome first, then what moved, then what may have moved it.

What has moved since the last release: the latest report of a suite beside its newest released one.

The page is `reports/<suite>/comparison.md`, beside `latest/` and not in it: `latest/` is an output of DVC, and a file
that another wrote there would make it stale. Git ignores the page: both reports are in Git, so anyone can write it
again (`ebmbench compare reports/<suite>/<version>` prints the same), and it would change with every run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ebmbench.report.compare.causes import code, parameters, runs
from ebmbench.report.compare.changes import Change, Move, by_chance, endings, moves
from ebmbench.report.compare.sides import WORKSPACE, Side, open_sides
from ebmbench.report.compare.verdicts import has_verdicts, verdict_changes
from ebmbench.report.release import released
from ebmbench.report.results.groups import heading
from ebmbench.report.text.numbers import MISSING, decimals, plural, spread
from ebmbench.report.text.tables import markdown_table
from ebmbench.workspace.files import write_text

MOST = 40  # lines of a table that a reader wants; the rest is counted


def moved(found: list[Move]) -> str:
    """Numbers before and after, with their intervals."""
    if not found:
        return ""
    rows = [[*_place(move), *_values(move), _relative(move)] for move in found]
    return _table(["dataset", "method", "metric", "before", "after", "change"], rows, left=3)


def one_sided(found: list[Move]) -> str:
    """A line for each method on a dataset: all of it is on one side, or these metrics are."""
    methods: dict[tuple[str, str], list[Move]] = {}
    for move in found:
        methods.setdefault(move.key[:2], []).append(move)
    rows = [
        [f"`{dataset}`", method, _only(ours, Change.GONE), _only(ours, Change.NEW)]
        for (dataset, method), ours in methods.items()
        if any(move.change in (Change.NEW, Change.GONE) for move in ours)
    ]
    return _table(["dataset", "method", "only before", "only after"], rows, left=4) if rows else ""


def _only(found: list[Move], kind: Change) -> str:
    there = [move for move in found if move.change is kind]
    if len(there) == len(found):
        return f"all {plural(len(there), 'number')}" if there else MISSING
    return ", ".join(_place(move)[2] for move in there) or MISSING


def ended_otherwise(before: Side, after: Side) -> str:
    """Methods whose runs ended otherwise, and which runs."""
    rows = [
        [f"`{one.dataset}`", one.method, one.before, one.after, one.runs or MISSING]
        for one in endings(before.frame, after.frame)
    ]
    return _table(["dataset", "method", "before", "after", "runs"], rows, left=5) if rows else ""


def changed_parameters(before: Side, after: Side) -> str:
    """Keys of `params.yaml` with their values."""
    found = parameters(before, after)
    if found is None:
        return f"Not known: {_lacking(before, after)} came without `params.yaml`."
    rows = [[f"`{key}`", f"`{old}`", f"`{new}`"] for key, old, new in found]
    return _table(["key", "before", "after"], rows, left=3) if rows else "The same."


def changed_code(root: Path, before: Side, after: Side) -> str:
    """Files with lines added and removed."""
    found = code(root, before, after)
    if found is None:
        return "Not known: the commit that a side was made from is not told, or not in this repository."
    rows = [[f"`{file}`", f"+{added}", f"−{removed}"] for file, added, removed in found]
    return _table(["file", "added", "removed"], rows) if rows else "The same."


def _place(move: Move) -> list[str]:
    dataset, method, metric, samples = move.key
    direction = next(side.direction for side in (move.after, move.before) if side is not None)
    kind = f" ({samples})" if samples else ""
    return [f"`{dataset}`", method, heading(metric + kind, direction)]


def _values(move: Move) -> list[str]:
    places = decimals([side.mean for side in (move.before, move.after) if side is not None])
    return [spread(side.mean, side.half, places) if side else MISSING for side in (move.before, move.after)]


def _relative(move: Move) -> str:
    assert move.before is not None
    assert move.after is not None
    old, new = move.before.mean, move.after.mean
    if not old or new is None:
        return MISSING
    return f"{100 * (new - old) / abs(old):+.1f} %".replace("-", "−")


def _table(header: Sequence[str], rows: list[list[str]], left: int = 1) -> str:
    more = f"\n\n… and {len(rows) - MOST} more." if len(rows) > MOST else ""
    return markdown_table(header, rows[:MOST], left) + more


def _lacking(before: Side, after: Side) -> str:
    return " and ".join(f"`{side.name}`" for side in (before, after) if side.params is None)


RULE = (
    "A number *moved* if the 95 % t interval of its paired differences over the seeds that both sides have (of "
    "logarithms, where all values are positive) leaves out zero. Entries are means over the seeds with their own 95 % "
    "interval."
)
TITLES = {
    Change.WORSE: "Got worse",
    Change.BETTER: "Got better",
    Change.MOVED: "Moved, with no better or worse",
    Change.ALONE: "Changed, with one seed only: no interval, no verdict",
    Change.APART: "No seed in common, so not compared",
}


def compare(root: Path, before: Side, after: Side) -> str:
    """The whole text."""
    return page(root, before, after, moves(before.frame, after.frame))


def page(root: Path, before: Side, after: Side, found: list[Move]) -> str:
    """The text about numbers that were compared already."""
    sections = {
        **{title: moved([move for move in found if move.change is kind]) for kind, title in TITLES.items()},
        "Runs that ended otherwise": ended_otherwise(before, after),
        "On one side only": one_sided(found),
        "Parameters": changed_parameters(before, after),
        "Code": changed_code(root, before, after),
    }
    title = f"# ebmbench: suite `{after.suite}`, from {_named(before)} to {_named(after)}"
    body = [f"## {name}\n\n{text}" for name, text in sections.items() if text]
    return "\n\n".join([title, _outcome(before, after, found), RULE, *body]) + "\n"


def headline(found: list[Move]) -> str:
    """`2 numbers got worse, 5 got better`."""
    worse, better = (sum(move.change is kind for move in found) for kind in (Change.WORSE, Change.BETTER))
    return f"{plural(worse, 'number')} got worse, {better} got better"


def _outcome(before: Side, after: Side, found: list[Move]) -> str:
    count = {kind: sum(move.change is kind for move in found) for kind in Change}
    both = sum(count.values()) - count[Change.NEW] - count[Change.GONE]
    left = count[Change.BETTER] + count[Change.WORSE] + count[Change.MOVED]
    equal, within = count[Change.EQUAL], count[Change.WITHIN]
    words = [
        f"**{headline(found)}.** Of {both} that both sides have, {equal} stayed equal, {within} changed within their "
        f"interval, {left} moved."
    ]
    if chance := by_chance(found):
        words.append(f"By chance alone about {chance:.1f} of those that changed would leave their interval.")
    if count[Change.ALONE]:
        words.append(f"{count[Change.ALONE]} changed with one seed only.")
    if count[Change.APART]:
        words.append(f"{count[Change.APART]} have no seed in common.")
    common, same = runs(before, after)
    words.append(f"{same} of {common} common runs were made from the same inputs, by their digests.")
    if before.frame.equals(after.frame):
        words.append("Both sides hold the very same report, seconds and all: it was not made anew in between.")
    return " ".join(words)


def _named(side: Side) -> str:
    told = side.commit and not side.commit.startswith(side.name)
    return f"`{side.name}`" + (f" ({side.commit[:10]})" if told else "")


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
