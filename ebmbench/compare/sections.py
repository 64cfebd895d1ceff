"""The sections of a comparison as Markdown: each is text, or empty if there is nothing to tell."""

from collections.abc import Sequence
from pathlib import Path

from ebmbench.compare.changes import code, parameters
from ebmbench.compare.endings import endings
from ebmbench.compare.moves import Change, Move
from ebmbench.compare.side import Side
from ebmbench.report.groups import heading
from ebmbench.report.numbers import MISSING, decimals, spread
from ebmbench.report.prose import plural
from ebmbench.report.tables import markdown_table

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
