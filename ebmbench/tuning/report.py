"""The report of a search: how it was done, every trial, the winners, and how much tuning each method needs."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ebmbench.report.results.groups import RATIO
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.tuning.curves import FIGURE, NEAR, compute_curves, count_needed, describe_need, shown_counts
from ebmbench.tuning.grid import Limit, settings_text, settings_values, split_axis, value_text
from ebmbench.tuning.ranges import Edge, find_edges
from ebmbench.tuning.searches import Searches, digest_of, plan_of, shared_digest
from ebmbench.tuning.space import SPACE, Plan
from ebmbench.tuning.trials import TABLE, Row, of_method, winner
from ebmbench.workspace.layout import DEFAULTS

MISSING = "–"


def render_report(plan: Plan, rows: list[Row], searches: Searches = MappingProxyType({})) -> str:
    """The whole text; `searches` says by which plan each method was searched (default: by this one)."""
    methods = list(dict.fromkeys(row.method for row in rows))
    plans = {method: plan_of(plan, searches, method) for method in methods}
    parts = [f"# How {_title(plan)} were chosen", _how(plan, plans, rows), _numbers(rows, methods)]
    parts += ["## Searches", _searches(plans, searches, rows)]
    parts += ["## Winners", _winners(plans, rows), *_need(plan, rows)]
    for method, own in plans.items():
        parts += [f"## {method}", _searched(own, rows, method), _trials(of_method(rows, method))]
    return "\n\n".join(parts) + "\n"


def _title(plan: Plan) -> str:
    if plan.special is not None:
        return f"the settings on {plan.special}"
    return "the defaults" if plan.file == SPACE else f"the settings for {plan.defaults.training.budget:,} passes"


def _searches(plans: Mapping[str, Plan], searches: Searches, rows: list[Row]) -> str:
    """Who was searched when, by which version, and how much."""
    lines = []
    for method, plan in plans.items():
        first, entry = of_method(rows, method, 1), searches.get(method)
        known = [str(entry[key]) for key in ("commit date", "ebmbench", "commit")] if entry else ["not recorded"] * 3
        space = digest_of(plan, method) if method in plan.space.methods else MISSING
        sha, _, remark = known[2].partition(" ")
        known[2] = f"{sha[:7]} {remark}".strip() if entry else known[2]
        had = f"{len(first)} trials of {plan.space.budget:,} passes on {_listed(plan.space.datasets)}"
        lines.append([method, *known, space, had])
    about = "The search of a method changes its own line only. *Space* is a hash of all that decided the search."
    header = ["method", "date of the commit", "ebmbench", "commit", "space", "round 1"]
    return f"{about}\n\n{_table(header, lines, left=6)}"


def _how(plan: Plan, plans: Mapping[str, Plan], rows: list[Row]) -> str:
    space, amounts = plan.space, plan.space.trials
    same = {shared_digest(own, method) for method, own in plans.items()} <= {shared_digest(plan, "")}
    first = f"Every method was given the same search of a grid of settings (`{plan.file}`), by `ebmbench tune`."
    differ = (
        f"**Not every method was given the same search.** What follows is true of a search by `{plan.file}` as it is "
        "now; the table of searches and the sections of the methods say what each of them had."
    )
    starts = any(row.trial == 0 and row.round == 2 for row in rows)
    or_start = " or the start" if starts else ""
    return (
        f"{first if same else differ}\n\n"
        f"**Round 1** has {space.budget:,} passes per run, on {_listed(space.datasets)}, with the seed "
        f"{space.seeds[0]}. All settings of a method differ. The first is the defaults as they were before (*start*); "
        f"{amounts.random} are drawn at random (*random*), {amounts.tpe} by a tree-structured Parzen estimator (*tpe*; "
        f"at random where it has nothing new), {amounts.walk} or more by a walk (*walk*): beyond the end of a range "
        f"where one of the {space.finalists} best{or_start} stands there, else beside the best. A range goes on by the "
        f"ratio of its last values. The walk of a method does not end before the values beyond all ends that its "
        f"{space.finalists} best{or_start} have reached were tried, or it has {amounts.most} trials; the other methods "
        "then walk as far.\n\n"
        f"**Round 2** has the {space.finalists} best{', and the start if it gave a number,' if starts else ''} with "
        f"the seeds {_listed(space.seeds)} and the whole budget of {plan.defaults.training.budget:,} passes. The best "
        "of these is the winner.\n\n"
        "No suite has these seeds, so no report of the benchmark shows a run that was looked at here; the "
        f"{_measured_on(plan)}, are the benchmark's own. All else is as in "
        f"`{DEFAULTS}`{_place(plan)}. A method that is searched alone replaces its own rows only.\n\n"
        f"{_value(plan)}: lower is better. A trial with a run that diverged or gave no "
        f"criterion has the value ∞ and cannot win. The same rows, with all digits, are in [{TABLE}]({TABLE})."
    )


def _measured_on(plan: Plan) -> str:
    """What a search shares with the reports."""
    if plan.main_criterion != RATIO:
        return "test events, which a criterion from samples is measured on"
    return "images that samples are compared with, and the classifier that compares them"


def _place(plan: Plan) -> str:
    return "" if plan.special is None else f", with the overrides of `{plan.special}`"


def _value(plan: Plan) -> str:
    """What the numbers of the tables are."""
    if len(plan.space.datasets) > 1:
        means = "Columns of datasets are means of the criterion over seeds"
        return f"{means}, and the value of a trial is the mean of their logarithms"
    first = f"The column `{plan.space.datasets[0]}` is the mean of the criterion over seeds"
    value = f"{first}, and the value of a trial is its logarithm"
    if plan.main_criterion != RATIO:
        return value
    said = f"The criterion, `{RATIO}`, is the FID of {SAMPLES[plan.kind]} over that of noisy test images"
    return f"{said}; below 1 they are nearer to the data than these. {value}"


def _averaged(plan: Plan) -> str:
    """How a table sums up a criterion over datasets."""
    return "geometric mean over datasets, " if len(plan.space.datasets) > 1 else ""


def _numbers(rows: list[Row], methods: list[str]) -> str:
    """Whether the methods had as many trials as one another."""
    counts = {method: len(of_method(rows, method, 1)) for method in methods}
    if len(set(counts.values())) == 1:
        return f"Every method had {next(iter(counts.values()))} trials in round 1."
    return f"**Numbers of trials differ:** {', '.join(f'{method} {count}' for method, count in counts.items())}."


def _winners(plans: Mapping[str, Plan], rows: list[Row]) -> str:
    """The winner of each method against where its search started."""
    header = ["method", "trials", "criterion", "before", "winner", "at the edge of its range"]
    header += [f"{one}, round {number}" for number in (1, 2) for one in ("before", "winner")]
    lines = []
    for method, plan in plans.items():
        line = _winner_line(of_method(rows, method))
        lines.append([*line[:5], _edges(plan, rows, method), *line[5:]])
    several = any(len(plan.space.datasets) > 1 for plan in plans.values())
    means = "geometric means over datasets of the criterion" if several else "the criterion"
    over = "of its means" if several else "its mean"
    note = (
        f"Settings that the winner changes, and {means} (in round 2 {over} "
        "over seeds, with the whole budget). A setting at the edge of its range, or outside, might do better beyond "
        "it: the table says what was tried there, or why nothing was."
    )
    return f"{note}\n\n{_table(header, lines, left=6)}"


def _winner_line(rows: list[Row]) -> list[str]:
    first, last = ({row.trial: row for row in rows if row.round == number} for number in (1, 2))
    start, best = first[0], winner(rows)
    again = _mean(last[0]) if 0 in last else MISSING
    head = [start.method, str(len(first)), start.criterion]
    if best is None:
        return [*head, start.settings, "none: no finalist ended well", _mean(start), MISSING, again, MISSING]
    before, after = settings_values(start.settings), settings_values(best.settings)
    keys = [key for key in after if after[key] != before[key]]
    texts = [settings_text({key: values[key] for key in keys}) or "as before" for values in (before, after)]
    return [*head, *texts, _mean(start), _mean(first[best.trial]), again, _mean(best)]


def _edges(plan: Plan, rows: list[Row], method: str) -> str:
    """The winner's settings at or outside the ends of their ranges, each with what is known of the next value."""
    best = winner(of_method(rows, method))
    if best is None or method not in plan.space.methods or not _same_axes(plan, best):
        return MISSING
    grid = plan.grid(method)
    tried = [grid.read(row.settings) for row in of_method(rows, method, 1)]  # whatever the order of the settings
    found = [_edge(edge, edge.beyond in tried) for edge in find_edges(grid, grid.read(best.settings))]
    return "; ".join(found) or "none"


def _edge(edge: Edge, tried: bool) -> str:
    place = f"{edge.axis}={value_text(edge.value)}"
    if edge.beyond is None:
        return f"{place}: {edge.why}"
    beyond = value_text(edge.beyond[edge.axis])
    return f"{place}: {beyond} was tried and lost" if tried else f"**still at the edge:** {place}, {beyond} not tried"


def _same_axes(plan: Plan, row: Row) -> bool:
    """Whether a row is of the present space, not of an earlier one with other axes."""
    paths = [path for axis in plan.space.methods[row.method].space for path in split_axis(axis)]
    return set(settings_values(row.settings)) == set(paths)


def _need(plan: Plan, rows: list[Row]) -> list[str]:
    """The section on curves; nothing if no trial was random."""
    curves = compute_curves(rows)
    if not curves:
        return []
    counts = shown_counts(curves)
    header = ["method", "random trials", *(f"best of {n}" for n in counts), f"trials to come within × {NEAR}"]
    cells = {
        method: [_number(curve[n - 1]) if n <= len(curve) else MISSING for n in counts]
        for method, curve in curves.items()
    }
    text = (
        f"The criterion ({_averaged(plan)}round 1) that the best of n random settings is expected to have: "
        "the mean of the log over all subsets of n of the random trials, which is unbiased; the last column has one "
        "subset only. The start and the proposals of the estimator and of the walk are left out: they follow good "
        "values, and are no random sample of the space. How much there is to gain depends on the space as well."
    )
    image = f"![Expected criterion of the best of n random settings, a line for each method]({FIGURE})"
    needs = {name: str(count_needed(curve)) if math.isfinite(curve[-1]) else MISSING for name, curve in curves.items()}
    lines = [[method, str(len(curve)), *cells[method], needs[method]] for method, curve in curves.items()]
    table = _table(header, lines, left=1)
    return ["## How much tuning a method needs", *filter(None, [describe_need(curves)]), text, table, image]


def _searched(plan: Plan, rows: list[Row], method: str) -> str:
    """The grid of a method, what was added to it, and how much of it was tried."""
    first = of_method(rows, method, 1)
    if method not in plan.space.methods or not _same_axes(plan, first[0]):
        return f"{len(first)} trials. `{plan.file}` no longer has this method, or not with these settings."
    grid, settings = plan.grid(method), [plan.grid(method).read(row.settings) for row in first]
    inside = sum(all(setting[axis] in grid.axes[axis] for axis in grid.axes) for setting in settings)
    amount = f"{inside} of the {grid.size} settings of this grid were tried, and {len(first) - inside} outside."
    if len(first) < plan.space.trials.least:
        amount = f"There are only {len(first)} settings, fewer than {plan.space.trials.least}: all of them were tried."
    other = plan.space.methods[method].criterion
    why = f" ({other.why})" if other else ""
    fixed = plan.space.methods[method].fixed
    lines = [f"- `{name}`: {_fixed(value)}, fixed" for name, value in fixed.items()]
    for axis, choices in grid.axes.items():
        added = sorted({setting[axis] for setting in settings if setting[axis] not in choices})
        beyond = f"; beyond the range: {', '.join(map(_choice, added))}" if added else ""
        limit = f"; {_limit(grid.limits[axis])}" if axis in grid.limits else ""
        lines.append(f"- `{axis}`: {', '.join(map(_choice, choices))}{beyond}{limit}")
    return f"{amount} Criterion: `{plan.criterion(method)}`{why}.\n\n" + "\n".join(lines)


def _fixed(value: Any) -> str:
    return settings_text(value) if isinstance(value, dict) else value_text(value)


def _limit(limit: Limit) -> str:
    ends = {"at least": limit.least, "at most": limit.most}
    return f"{' and '.join(f'{word} {end:g}' for word, end in ends.items() if end is not None)}: {limit.why}"


def _trials(rows: list[Row]) -> str:
    """Both rounds, the last first, the best first; the winner is bold."""
    best = winner(rows)
    datasets = list(dict.fromkeys(name for row in rows for name in row.scores))
    header = ["round", "trial", "proposal", "settings", *datasets, "value", "seeds", "status"]
    lines = []
    for row in sorted(rows, key=lambda row: (-row.round, *row.rank)):
        status = row.status + (f": {row.reason}" if row.reason else "")
        scores = [_number(row.scores.get(name)) for name in datasets]
        line = [str(row.round), str(row.trial), row.proposal, row.settings, *scores]
        line += [_number(row.value), row.seeds, status]
        lines.append([f"**{cell}**" for cell in line] if row is best else line)
    return _table(header, lines, left=4)


def _mean(row: Row) -> str:
    return _number(math.exp(row.value))


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "∞"


def _choice(choice: object) -> str:
    return " with ".join(map(value_text, choice if isinstance(choice, list) else [choice]))


def _listed(values: Sequence[object]) -> str:
    *most, last = map(str, values)
    return f"{', '.join(most)} and {last}" if most else last


def _table(header: list[str], rows: list[list[str]], left: int) -> str:
    rule = [":---" if place < left else "---:" for place in range(len(header))]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, rule, *rows)
    )
