"""Sweeps: how the metrics change with a setting of a method, beside what was published of it."""

from ebmbench.report.results.groups import direction, heading
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.statistics.sweeps import Sweep, describe_tendency, find_sweeps, numbers_of
from ebmbench.report.text.images import show_images
from ebmbench.report.text.numbers import MISSING, format_fixed
from ebmbench.report.text.tables import format_entry, markdown_table

TITLE = "Swept settings"
ORDER = 65


def text(results: Results) -> str:
    """A part for each method and setting; empty if nothing was swept."""
    parts = []
    for (method, setting), found in find_sweeps(results).items():
        name = f"{method}: {setting}"
        figures = show_images([image for image in results.images.get("sweep", ()) if image.title == name])
        about = found[0].published.get("about", "")
        parts += [f"### {name}", figures, _table(results, found), _tendencies(found), about]
    return "\n\n".join(filter(None, parts))


def _table(results: Results, found: list[Sweep]) -> str:
    """A column for each value; published numbers first, ours below with intervals."""
    published = found[0].published
    theirs = published.get("values", {})
    names = dict.fromkeys(str(value) for known in theirs.values() for value in known)
    values = list(names | dict.fromkeys(value for one in found for value in one.runs))
    values = sorted(values, key=float) if numbers_of(values) else values
    rows = [
        [published["source"], heading(metric, direction(results.frame, metric)), *_published_cells(known, values)]
        for metric, known in theirs.items()
    ]
    for one in found:
        data = f"`{one.dataset}`" + (f", {one.kind}" if one.kind else "")
        for metric in one.metrics:
            cells = _cells(one, metric)
            first = heading(metric, direction(results.frame, metric))
            rows.append([data, first, *(cells.get(value, MISSING) for value in values)])
    header = [f"{found[0].setting} = {value}" if "=" not in value else value for value in values]
    return markdown_table(["data", "metric", *header], rows, left=2)


def _tendencies(found: list[Sweep]) -> str:
    """One line for each sweep, after one for what was published."""
    first, lines = found[0], []
    if published := first.published:
        metric, known = next(iter(published["values"].items()))
        pairs = [(str(value), one) for value, one in known.items()]
        lines.append(f"Published: {describe_tendency(first.setting, metric, pairs, 'values')}")
    for one in found:
        where = f"On `{one.dataset}`" + (f", {SAMPLES[one.kind]}" if one.kind else "")
        tendency = describe_tendency(one.setting, one.metrics[0], one.pairs(one.metrics[0]), "runs")
        lines += [f"{where}: {tendency}"] if tendency else []
    return "\n".join(f"- {line}" for line in lines)


def _published_cells(known: dict[float, float], values: list[str]) -> list[str]:
    found = {str(value): format_fixed(one, 2) for value, one in known.items()}
    return [found.get(value, MISSING) for value in values]


def _cells(one: Sweep, metric: str) -> dict[str, str]:
    return {value: format_entry(summarise(rows, metric)) for value, rows in one.runs.items()}
