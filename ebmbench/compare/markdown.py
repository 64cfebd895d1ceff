"""The comparison as Markdown: the outcome first, then what moved, then what may have moved it."""

from pathlib import Path

from ebmbench.compare.changes import runs
from ebmbench.compare.moves import Change, Move, by_chance, moves
from ebmbench.compare.sections import changed_code, changed_parameters, ended_otherwise, moved, one_sided
from ebmbench.compare.side import Side
from ebmbench.report.prose import plural

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
