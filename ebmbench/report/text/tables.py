"""Markdown tables, and the entries of those that compare methods.

Methods that tie with the best are bold (see `leaders`). A metric may name another one that has the same information as
a distance to the truth (`GAP` in its file), and that one decides: a likelihood and its gap must not bold different
methods because a gap has a zero, and so a logarithm, and a likelihood has none. A mean of fewer values than runs says
so, `0.12 (4/5)`, or a method would look good for its diverged runs. Baselines are in italics and do not compete: the
oracle is the floor of each metric, the Gaussian a reference.
"""

from collections.abc import Sequence

import pandas as pd

from ebmbench.config import registry
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import datasets, variants
from ebmbench.report.statistics.leaders import find_leaders
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.escaping import escape_cell
from ebmbench.report.text.numbers import format_interval

# What a summary needs: to select rows of all columns takes three times as long.
COLUMNS = ["dataset", "method", "settings", "seed", "label", "status", "metric", "value", "direction"]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned left, the others right."""
    rule = [":---" if place < left else "---:" for place in range(len(header))]
    lines = ["| " + " | ".join(escape_cell(text) for text in row) + " |" for row in (header, rule, *rows)]
    return "\n".join(lines)


def format_name(name: str) -> str:
    """How a method is written in a table."""
    return f"*{name.lstrip('_')}*" if is_baseline(name) else name


def format_share(one: Summary) -> str:
    """How many runs gave a value, `(4/5)`, if not all did."""
    return "" if one.complete else f"\u00a0({len(one.values)}/{one.runs})"


def format_entry(one: Summary) -> str:
    """`mean ± half width`, with the share of runs that gave a value if not all did."""
    return format_interval(one.mean, one.half) + (format_share(one) if one.values else "")


def find_best(frame: pd.DataFrame, dataset: str, metric: str) -> set[str]:
    """The methods that are best or tie with the best on a dataset."""
    return _find_bold(frame, dataset, metric, _summaries(frame, dataset, metric))


def format_column(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], str]:
    """The text of a metric for each dataset and method."""
    texts = {}
    for dataset in datasets(frame):
        part = _summaries(frame, dataset, metric)
        bold = _find_bold(frame, dataset, metric, part)
        for name, one in part.items():
            texts[dataset, name] = f"**{format_entry(one)}**" if name in bold else format_entry(one)
    return texts


def _summaries(frame: pd.DataFrame, dataset: str, metric: str) -> dict[str, Summary]:
    rows_of = variants(frame[COLUMNS], dataset)
    return {name: summarise(rows, metric) for name, rows in rows_of.items()}


def _find_bold(frame: pd.DataFrame, dataset: str, metric: str, part: dict[str, Summary]) -> set[str]:
    """The leaders by the farthest gap that all who compete have; by the metric itself if there is none."""
    competing = {name for name, one in part.items() if one.complete and not is_baseline(name)}
    for gap in reversed(_gaps(metric)):
        found = _summaries(frame, dataset, gap)
        if all(found[name].complete for name in competing):
            part = {name: one for name, one in found.items() if is_baseline(name) or name in competing}
            break
    return find_leaders(_competitors(part))


def _gaps(metric: str) -> list[str]:
    """The gap of a metric, the gap of that, and so on."""
    known, found = registry.entries("metrics"), [metric]
    while found[-1] in known and (gap := known[found[-1]].gap) and gap not in found:
        found.append(gap)
    return found[1:]


def _competitors(summaries: dict[str, Summary]) -> dict[str, Summary]:
    """The methods as they compete: none counts as better than the oracle."""
    methods = {name: one for name, one in summaries.items() if not is_baseline(name)}
    truth = summaries.get("oracle")
    return methods if truth is None else {name: one.no_better_than(truth) for name, one in methods.items()}
