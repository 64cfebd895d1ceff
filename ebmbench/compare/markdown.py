"""The comparison as Markdown: the outcome first, then what moved, then what may have moved it."""

from collections.abc import Sequence
from pathlib import Path

from ebmbench.compare.changes import code, parameters, runs
from ebmbench.compare.moves import Change, Move, by_chance, endings, moves
from ebmbench.compare.side import Side
from ebmbench.report.groups import heading
from ebmbench.report.numbers import MISSING, decimals, spread
from ebmbench.report.prose import plural
from ebmbench.report.tables import markdown_table

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
}
MOST = 40  # lines of a table that a reader wants; the rest is counted


def compare(root: Path, before: Side, after: Side) -> str:
    """The whole text."""
    found = moves(before.frame, after.frame)
    sections = {
        **{title: _moved([move for move in found if move.change is kind]) for kind, title in TITLES.items()},
        "Runs that ended otherwise": _endings(before, after),
        "On one side only": _one_sided(found),
        "Parameters": _parameters(before, after),
        "Code": _code(root, before, after),
    }
    title = f"# ebmbench: suite `{after.suite}`, from {_named(before)} to {_named(after)}"
    body = [f"## {name}\n\n{text}" for name, text in sections.items() if text]
    return "\n\n".join([title, _outcome(before, after, found), RULE, *body]) + "\n"


def _outcome(before: Side, after: Side, found: list[Move]) -> str:
    count = {kind: sum(move.change is kind for move in found) for kind in Change}
    both = sum(count.values()) - count[Change.NEW] - count[Change.GONE]
    moved = count[Change.BETTER] + count[Change.WORSE] + count[Change.MOVED]
    worse, better = plural(count[Change.WORSE], "number"), count[Change.BETTER]
    equal, within = count[Change.EQUAL], count[Change.WITHIN]
    words = [
        f"**{worse} got worse, {better} got better.** Of {both} that both sides have, {equal} stayed equal, {within} "
        f"changed within their interval, {moved} moved."
    ]
    if chance := by_chance(found):
        words.append(f"By chance alone about {chance:.1f} of those that changed would leave their interval.")
    if count[Change.ALONE]:
        words.append(f"{count[Change.ALONE]} changed with one seed only.")
    common, same = runs(before, after)
    words.append(f"{same} of {common} common runs were made from the same inputs, by their digests.")
    return " ".join(words)


def _moved(found: list[Move]) -> str:
    if not found:
        return ""
    rows = [[*_place(move), *_values(move), _relative(move)] for move in found]
    return _table(["dataset", "method", "metric", "before", "after", "change"], rows, left=3)


def _one_sided(found: list[Move]) -> str:
    rows = [[*_place(move), *_values(move)] for move in found if move.change in (Change.NEW, Change.GONE)]
    return _table(["dataset", "method", "metric", "before", "after"], rows, left=3) if rows else ""


def _endings(before: Side, after: Side) -> str:
    rows = [[f"`{dataset}`", *others] for dataset, *others in endings(before.frame, after.frame)]
    return _table(["dataset", "method", "before", "after"], rows, left=4) if rows else ""


def _parameters(before: Side, after: Side) -> str:
    found = parameters(before, after)
    if found is None:
        return "Not known: a side does not keep its `params.yaml`."
    rows = [[f"`{key}`", f"`{old}`", f"`{new}`"] for key, old, new in found]
    return _table(["key", "before", "after"], rows, left=3) if rows else "The same."


def _code(root: Path, before: Side, after: Side) -> str:
    found = code(root, before, after)
    if found is None:
        return "Not known: the commit of a side is not known, or not in this repository."
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


def _named(side: Side) -> str:
    return f"`{side.name}`" + (f" ({side.commit[:10]})" if side.commit and side.commit != side.name else "")
