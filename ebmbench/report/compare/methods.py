"""Compare two methods inside the latest report of a suite: differences seed by seed in the main metric of each dataset.

Which metric that is, and that each kind of image samples is compared on its own, says `statistics/standings.py`. The
test is that of two reports (`changes.py`): the 95 % t interval of the paired differences leaves out zero.
"""

import math
from contextlib import suppress
from pathlib import Path

import numpy as np

from ebmbench.config.registry import entries
from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError, nearest
from ebmbench.report.compare.changes import Change, classify
from ebmbench.report.compare.sides import WORKSPACE, is_report, suite_of
from ebmbench.report.results.baselines import baselines
from ebmbench.report.results.frame import variant
from ebmbench.report.results.groups import heading
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import FAULTS, load_results, read_rows
from ebmbench.report.statistics.seeds import LEVEL, Summary, half_width, paired_differences, uses_logarithms
from ebmbench.report.statistics.standings import Ranking, find_rankings
from ebmbench.report.text.numbers import MISSING, format_number, plural
from ebmbench.report.text.tables import format_entry, markdown_table
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import BASELINES, PARAMS_YAML, report_folder

RULE = (
    "Entries are means over seeds with their 95 % interval. A difference is {one} minus {other}, or, where all values "
    "are positive, the factor {one}/{other}, seed by seed; in brackets the 95 % t interval of its mean (of logarithms, "
    "for factors). A method is *better* if the interval leaves out no difference. Seeds of two methods share first "
    "weights and batches, but their results hardly correlate, so pairing gains little: few seeds stay few."
)
LOST = "Runs without a value are in no difference, which flatters who lost them; `(2/3)` counts those that gave one."


def find_methods(root: Path, before: str, after: str, suite: str | None) -> tuple[Path, str] | None:
    """The report's folder, and a note on an ambiguity, if both words name methods; None if they name reports.

    A word that is also a revision or a folder means the method, unless the other word is no method.
    """
    latest = report_folder(root, suite or suite_of(read_yaml(root / PARAMS_YAML), PARAMS_YAML))
    known = _method_names(latest)
    named = [word for word in (before, after) if word.split(" ")[0] in known]
    reports = [word for word in named if _is_side(root, word)]
    if not named or (len(named) == 1 and reports):
        return None
    if len(named) == 1:
        rest = before if named == [after] else after
        near = nearest(rest, known).partition(" (")
        other = "nothing more" if rest == WORKSPACE else f"'{rest}', which is none{''.join(near[1:])}"
        raise UserError(f"compare: found the method '{named[0]}' and {other}, allowed: two methods or two reports")
    notes = [f"`{word}` is also a revision or a report; `refs/heads/{word}` or `./{word}` is that." for word in reports]
    return latest, " ".join(notes)


def _method_names(report: Path) -> set[str]:
    """The methods of the package and of the report, which may be of another version."""
    rows = []
    with suppress(OSError, *FAULTS):  # whoever reads the report says what is wrong with it
        rows = read_rows(report / "results.csv")
    return {*entries("methods"), *(str(row.get("method")) for row in rows)} - {*baselines(), BASELINES}


def _is_side(root: Path, word: str) -> bool:
    return is_report(root / word) or bool(ask_git(root, "rev-parse", "--verify", "--quiet", f"{word}^{{commit}}"))


def compare_methods(folder: Path, one: str, other: str, note: str = "") -> str:
    """The page for two methods, by their names, with settings if these are swept."""
    params = read_yaml(folder / PARAMS_YAML) if (folder / PARAMS_YAML).is_file() else {}
    results = Results(load_results(folder), params)
    one, other = (_choose(results, word, folder) for word in (one, other))
    if one == other:
        raise UserError(f"compare: found '{one}' twice, allowed: two methods")
    rankings = [ranking for dataset in results.datasets for ranking in find_rankings(results, dataset)]
    rankings = [ranking for ranking in rankings if one in ranking.summaries or other in ranking.summaries]
    changes = [_classify(ranking, one, other) for ranking in rankings]
    rows = [_row(ranking, one, other, change) for ranking, change in zip(rankings, changes, strict=True)]
    header = ["dataset", "metric", one, other, "difference", "by seed", "better on seeds", "better"]
    summaries = [ranking.summaries.get(name) for ranking in rankings for name in (one, other)]
    lost = LOST if any(one is not None and not one.complete for one in summaries) else ""
    title = f"# ebmbench: `{one}` and `{other}`, suite `{results.frame['suite'].iloc[0]}`"
    text = [title, note, _outcome(one, other, changes), markdown_table(header, rows, left=2)]
    return "\n\n".join(filter(None, [*text, RULE.format(one=one, other=other), lost])) + "\n"


def _choose(results: Results, word: str, folder: Path) -> str:
    """The row of the report that a word means."""
    frame = results.frame
    found = list(dict.fromkeys(map(variant, frame["method"], frame["settings"])))
    rows = [name for name in found if name == word] or [name for name in found if name.split(" ")[0] == word]
    if len(rows) > 1:
        raise UserError(f"compare: '{word}' has several settings, allowed: {', '.join(repr(name) for name in rows)}")
    if not rows:
        place = Path(*folder.parts[-3:]).as_posix()
        raise UserError(
            f"compare: found no '{word}' in {place}, {nearest(word, set(found) - {*baselines(), BASELINES})}"
        )
    return rows[0]


def _classify(ranking: Ranking, one: str, other: str) -> Change:
    return classify(ranking.summaries.get(other), ranking.summaries.get(one))


def _outcome(one: str, other: str, changes: list[Change]) -> str:
    """The first paragraph: who is better how often."""
    ours, theirs = changes.count(Change.BETTER), changes.count(Change.WORSE)
    tested = ours + theirs + changes.count(Change.WITHIN)
    text = f"**Of {plural(len(changes), 'comparison')}, {one} is better in {ours} and {other} in {theirs}**"
    text += "; of the others these seeds cannot tell." if ours + theirs < len(changes) else "."
    chance = f" By chance alone about {(1 - LEVEL) * tested:.1f} of {tested} would be decided." if tested else ""
    return text + chance


def _row(ranking: Ranking, one: str, other: str, change: Change) -> list[str]:
    ours, theirs = ranking.summaries.get(one), ranking.summaries.get(other)
    direction = next(side.direction for side in (ours, theirs) if side is not None)
    metric = heading(f"{ranking.metric} ({ranking.kind})" if ranking.kind else ranking.metric, direction)
    entries = [MISSING if side is None else format_entry(side) for side in (ours, theirs)]
    better = {Change.BETTER: one, Change.WORSE: other, Change.WITHIN: "not told apart"}.get(change, change.value)
    if ours is None or theirs is None or not ours.values.keys() & theirs.values.keys():
        return [f"`{ranking.dataset}`", metric, *entries, MISSING, MISSING, MISSING, "not compared"]
    differences = _differences(ours, theirs)
    return [f"`{ranking.dataset}`", metric, *entries, *differences, _wins(ours, theirs, one), better]


def _differences(ours: Summary, theirs: Summary) -> tuple[str, str]:
    """The mean with its interval, and the difference of each seed."""
    found = paired_differences(ours, theirs)
    half, mean = half_width(found.tolist()), float(np.mean(found))
    factors = uses_logarithms(ours, theirs)

    def write(value: float) -> str:
        return f"×{math.exp(value):.3g}" if factors else format_number(value)

    interval = f" ({write(mean - half)} to {write(mean + half)})" if half is not None else ""
    return write(mean) + interval, ", ".join(map(write, found.tolist()))


def _wins(ours: Summary, theirs: Summary, one: str) -> str:
    """On how many of the common seeds the first method is better."""
    common = sorted(ours.values.keys() & theirs.values.keys())
    sign = -1 if ours.direction == "higher" else 1
    wins = sum(sign * ours.values[seed] < sign * theirs.values[seed] for seed in common)
    return f"{one} {wins} of {len(common)}"
