"""The comparison of two reports as Markdown: the outcome, the changes, and their possible causes.

`ebmbench compare` prints this page. After a run the same page, for the present report and the newest release of its
suite, is written to `reports/<suite>/comparison.md`. It is not inside `latest/`, because that folder is an output of
DVC and a file that another program wrote there would make it stale. Git ignores it: it can be written again from the
two reports at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ebmbench.report.catalogue import list_releases
from ebmbench.report.compare.causes import compare_code, compare_parameters, count_common_runs
from ebmbench.report.compare.changes import (
    Change,
    NumberChange,
    RunChange,
    compare_numbers,
    compare_runs,
    expected_by_chance,
)
from ebmbench.report.compare.claims import compare_claims, find_claims_reports, is_claims_report
from ebmbench.report.compare.methods import compare_methods, find_methods
from ebmbench.report.compare.sides import WORKSPACE, Side, read_sides
from ebmbench.report.results.groups import heading
from ebmbench.report.text.numbers import MISSING, format_interval, plural
from ebmbench.report.text.tables import markdown_table
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import REPORTS, current_report

FILE = "comparison.md"
LONGEST = 40  # rows of a table; the others are counted
RULE = (
    "A number *moved* if the 95 % t interval of its paired differences over the seeds that both sides have (of "
    "logarithms, where all values are positive) leaves out zero. Entries are means over the seeds with their own 95 % "
    "interval."
)
TITLES = {
    Change.WORSE: "Got worse",
    Change.BETTER: "Got better",
    Change.MOVED: "Moved, with no better or worse",
    Change.ONE_SEED: "Changed, with one seed only: no interval, no verdict",
    Change.NO_COMMON_SEED: "No seed in common, so not compared",
}


def compare(root: Path, before: str, after: str, suite: str | None) -> str:
    """The page for two sides, by their names, or for two methods of the latest report."""
    if found := find_methods(root, before, after, suite):
        return compare_methods(found[0], before, after, found[1])
    if folders := find_claims_reports(root, before, after, suite):
        return compare_claims(*folders)[1]
    return _compare_results(root, *read_sides(root, before, after, suite))[1]


@dataclass(frozen=True)
class ReleaseComparison:
    """The page's path from the project's root, and its outcome in one line."""

    path: str
    line: str


def compare_with_release(root: Path, suite: str) -> ReleaseComparison | None:
    """Write the comparison of the present report with the newest release; None if the suite has no release."""
    folder = Path(REPORTS, suite)
    path = folder / FILE
    (root / path).unlink(missing_ok=True)  # an old page must not pass for this one
    releases = list_releases(root / folder)
    if not releases:
        return None
    newest = folder / releases[0]
    if is_claims_report(root / newest):
        line, text = compare_claims(root / newest, current_report(root, suite))
    else:
        line, text = _compare_results(root, *read_sides(root, newest.as_posix(), WORKSPACE, suite))
    write_text(root / path, text)
    return ReleaseComparison(path.as_posix(), f"since {releases[0]}: {line} ({path.as_posix()})")


def _compare_results(root: Path, before: Side, after: Side) -> tuple[str, str]:
    """The outcome in one line, and the whole page."""
    numbers = compare_numbers(before.frame, after.frame)
    runs = compare_runs(before.frame, after.frame)
    sections = {
        **{title: _number_table([one for one in numbers if one.change is change]) for change, title in TITLES.items()},
        "Runs that ended otherwise": _run_table(runs),
        "On one side only": _one_sided_table(numbers),
        "Parameters": _parameter_table(before, after),
        "Code": _code_table(root, before, after),
    }
    title = f"# ebmbench: suite `{after.suite}`, from {_name(before)} to {_name(after)}"
    body = [f"## {name}\n\n{text}" for name, text in sections.items() if text]
    text = "\n\n".join([title, _outcome(before, after, numbers), RULE, *body]) + "\n"
    ends = f", runs of {plural(len(runs), 'cell')} ended otherwise" if runs else ""
    return _headline(numbers) + ends, text


def _headline(numbers: list[NumberChange]) -> str:
    worse, better = (sum(number.change is one for number in numbers) for one in (Change.WORSE, Change.BETTER))
    return f"{plural(worse, 'number')} got worse, {better} got better"


def _outcome(before: Side, after: Side, numbers: list[NumberChange]) -> str:
    """The first paragraph: how many numbers changed in which way."""
    count = {change: sum(number.change is change for number in numbers) for change in Change}
    both = sum(count.values()) - count[Change.NEW] - count[Change.GONE]
    moved = count[Change.BETTER] + count[Change.WORSE] + count[Change.MOVED]
    sentences = [
        f"**{_headline(numbers)}.** Of {both} that both sides have, {count[Change.EQUAL]} stayed equal, "
        f"{count[Change.WITHIN]} changed within their interval, {moved} moved."
    ]
    if chance := expected_by_chance(numbers):
        sentences.append(f"By chance alone about {chance:.1f} of those that changed would leave their interval.")
    if count[Change.ONE_SEED]:
        sentences.append(f"{count[Change.ONE_SEED]} changed with one seed only.")
    if count[Change.NO_COMMON_SEED]:
        sentences.append(f"{count[Change.NO_COMMON_SEED]} have no seed in common.")
    common, same = count_common_runs(before, after)
    sentences.append(f"{same} of {common} common runs were made from the same inputs, by their digests.")
    if before.frame.equals(after.frame):
        sentences.append("Both sides hold the very same report, seconds and all: it was not made anew in between.")
    return " ".join(sentences)


def _name(side: Side) -> str:
    commit = f" ({side.commit[:10]})" if side.commit and not side.commit.startswith(side.name) else ""
    return f"`{side.name}`{commit}"


def _number_table(numbers: list[NumberChange]) -> str:
    """Numbers before and after, with their intervals."""
    rows = [[*_labels(number), *_values(number), _relative_change(number)] for number in numbers]
    return _table(["dataset", "method", "metric", "before", "after", "change"], rows, left=3)


def _one_sided_table(numbers: list[NumberChange]) -> str:
    """The numbers that only one side has, in one row for each dataset and method."""
    methods: dict[tuple[str, str], list[NumberChange]] = {}
    for number in numbers:
        methods.setdefault(number.key[:2], []).append(number)
    rows = [
        [f"`{dataset}`", method, _list_metrics(group, Change.GONE), _list_metrics(group, Change.NEW)]
        for (dataset, method), group in methods.items()
        if any(number.change in (Change.NEW, Change.GONE) for number in group)
    ]
    return _table(["dataset", "method", "only before", "only after"], rows, left=4)


def _list_metrics(group: list[NumberChange], change: Change) -> str:
    """The metrics of a method that changed so; all of them are counted instead."""
    metrics = [_labels(number)[2] for number in group if number.change is change]
    if metrics and len(metrics) == len(group):
        return f"all {plural(len(metrics), 'number')}"
    return ", ".join(metrics) or MISSING


def _run_table(runs: list[RunChange]) -> str:
    """Methods whose runs ended differently, and which runs."""
    rows = [[f"`{one.dataset}`", one.method, one.before, one.after, one.runs or MISSING] for one in runs]
    return _table(["dataset", "method", "before", "after", "runs"], rows, left=5)


def _parameter_table(before: Side, after: Side) -> str:
    """Keys of `params.yaml` with their values."""
    changes = compare_parameters(before, after)
    if changes is None:
        unknown = " and ".join(f"`{side.name}`" for side in (before, after) if side.params is None)
        return f"Not known: {unknown} came without `params.yaml`."
    rows = [[f"`{key}`", f"`{old}`", f"`{new}`"] for key, old, new in changes]
    return _table(["key", "before", "after"], rows, left=3) or "The same."


def _code_table(root: Path, before: Side, after: Side) -> str:
    """Files with lines added and removed."""
    changes = compare_code(root, before, after)
    if changes is None:
        return "Not known: a side does not name its commit, or this repository does not have that commit."
    rows = [[f"`{file}`", f"+{added}", f"−{removed}"] for file, added, removed in changes]
    return _table(["file", "added", "removed"], rows) or "The same."


def _table(header: Sequence[str], rows: list[list[str]], left: int = 1) -> str:
    """A Markdown table of at most `LONGEST` rows; empty if there is no row."""
    more = f"\n\n… and {len(rows) - LONGEST} more." if len(rows) > LONGEST else ""
    return markdown_table(header, rows[:LONGEST], left) + more if rows else ""


def _labels(number: NumberChange) -> list[str]:
    dataset, method, metric, samples = number.key
    direction = next(side.direction for side in (number.after, number.before) if side is not None)
    return [f"`{dataset}`", method, heading(f"{metric} ({samples})" if samples else metric, direction)]


def _values(number: NumberChange) -> list[str]:
    return [format_interval(side.mean, side.half) if side else MISSING for side in (number.before, number.after)]


def _relative_change(number: NumberChange) -> str:
    assert number.before is not None
    assert number.after is not None
    old, new = number.before.mean, number.after.mean
    if not old or new is None:
        return MISSING
    return f"{100 * (new - old) / abs(old):+.1f} %".replace("-", "−")
