"""`reports/tuning/report.md`: what was searched and how, every trial, and the winners."""

import math
from collections.abc import Sequence

from ebmbench.tuning.space import Plan
from ebmbench.tuning.trials import Row, of_method, settings_text, settings_values, value_text, winner
from ebmbench.workspace.layout import DEFAULTS

MISSING = "–"


def render_report(plan: Plan, rows: list[Row]) -> str:
    """The whole text."""
    methods = list(dict.fromkeys(row.method for row in rows))
    parts = ["# How the defaults were chosen", _how(plan), "## Winners", _winners(plan, rows, methods)]
    for method in methods:
        parts += [f"## {method}", _searched(plan, rows, method), _trials(of_method(rows, method))]
    return "\n\n".join(parts) + "\n"


def _how(plan: Plan) -> str:
    space = plan.space
    return (
        f"Every method was given the same search, by `ebmbench tune`: {space.trials} different settings of a grid "
        f"(`{plan.file}`), the first of them the defaults as they were before, the others of the first half drawn at "
        "random, those of the second by a tree-structured Parzen estimator (and at random where it has nothing new). "
        f"Each was trained with {space.budget:,} passes on {_listed(space.datasets)} with the seed {space.seeds[0]} "
        f"(round 1). The {space.finalists} best were then trained with the seeds {_listed(space.seeds)} (round 2); the "
        "best of these is the winner. No suite has these seeds, so no report of the benchmark shows a run that was "
        "looked at here; the test events, which a criterion from samples is measured on, are the benchmark's own. All "
        f"else is as in `{DEFAULTS}`. A method that is searched alone replaces its own rows only.\n\n"
        "Columns of datasets are means of the criterion over seeds, and the value of a trial is the mean of their "
        "logarithms: lower is better. A trial with a run that diverged or gave no "
        "criterion has the value ∞ and cannot win. The same rows, with all digits, are in [trials.csv](trials.csv)."
    )


def _winners(plan: Plan, rows: list[Row], methods: list[str]) -> str:
    """The winner of each method against where its search started."""
    header = ["method", "trials", "criterion", "before", "winner", "before, round 1", "winner, round 1", "round 2"]
    header.append("at the edge of its range")
    lines = [[*_winner_line(of_method(rows, method)), _edges(plan, rows, method)] for method in methods]
    note = (
        "Settings that the winner changes, and geometric means over datasets of the criterion (in round 2 of its means "
        "over seeds). A setting at the edge of its range might do better beyond it."
    )
    return f"{note}\n\n{_table(header, lines, left=5)}"


def _winner_line(rows: list[Row]) -> list[str]:
    first = {row.trial: row for row in rows if row.round == 1}
    start, best = first[0], winner(rows)
    head = [start.method, str(len(first)), start.criterion]
    if best is None:
        return [*head, start.settings, "none: no finalist ended well", _mean(start), MISSING, MISSING]
    before, after = settings_values(start.settings), settings_values(best.settings)
    keys = [key for key in after if after[key] != before[key]]
    texts = [settings_text({key: values[key] for key in keys}) or "as before" for values in (before, after)]
    return [*head, *texts, _mean(start), _mean(first[best.trial]), _mean(best)]


def _edges(plan: Plan, rows: list[Row], method: str) -> str:
    """The winner's settings that have the first or last of three values or more."""
    best = winner(of_method(rows, method))
    if best is None or method not in plan.space.methods:
        return MISSING
    values = settings_values(best.settings)
    axes = plan.space.methods[method].space.items()
    found = [key for key, choices in axes if len(choices) > 2 and values.get(key) in (choices[0], choices[-1])]
    return ", ".join(found) or "none"


def _searched(plan: Plan, rows: list[Row], method: str) -> str:
    """The grid of a method, and how much of it was tried."""
    tried = len(of_method(rows, method, 1))
    if method not in plan.space.methods:
        return f"{tried} trials. This method is no longer in `{plan.file}`."
    grid = plan.grid(method)
    axes = [f"- `{axis}`: {', '.join(_choice(choice) for choice in choices)}" for axis, choices in grid.axes.items()]
    amount = f"{tried} of the {grid.size} settings of this grid were tried."
    if grid.size < plan.space.trials:
        amount = f"The grid has {grid.size} settings, fewer than {plan.space.trials}: all of them were tried."
    return f"{amount} Criterion: `{plan.space.methods[method].criterion}`.\n\n" + "\n".join(axes)


def _trials(rows: list[Row]) -> str:
    """Both rounds, the last first, the best first; the winner is bold."""
    best = winner(rows)
    datasets = list(dict.fromkeys(name for row in rows for name in row.scores))
    header = ["round", "trial", "settings", *datasets, "value", "seeds", "status"]
    lines = []
    for row in sorted(rows, key=lambda row: (-row.round, *row.rank)):
        status = row.status + (f": {row.reason}" if row.reason else "")
        scores = [_number(row.scores.get(name)) for name in datasets]
        line = [str(row.round), str(row.trial), row.settings, *scores, _number(row.value), row.seeds, status]
        lines.append([f"**{cell}**" for cell in line] if row is best else line)
    return _table(header, lines, left=3)


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
