"""Markdown tables, and the entries of those that compare methods.

Methods that tie with the best are bold (see `statistics`). A mean of fewer values than runs says so, `0.12 (4/5)`, or a
method would look good for its diverged runs. Baselines are in italics and do not compete: the oracle is the floor of
each metric, the Gaussian a reference.
"""

from collections.abc import Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import datasets, variants
from ebmbench.report.statistics.seeds import Summary, find_leaders, summarise
from ebmbench.report.text.escaping import escape_cell
from ebmbench.report.text.numbers import choose_decimals, format_interval

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
    return "" if one.complete else f" ({len(one.values)}/{one.runs})"


def format_entry(one: Summary, places: int) -> str:
    """`mean ± half width`, with the share of runs that gave a value if not all did."""
    return format_interval(one.mean, one.half, places) + (format_share(one) if one.values else "")


def find_best(frame: pd.DataFrame, dataset: str, metric: str) -> set[str]:
    """The methods that are best or tie with the best on a dataset."""
    return find_leaders(_competitors(_summaries(frame, dataset, metric)))


def format_column(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], str]:
    """The text of a metric for each dataset and method, with one number of decimals for all."""
    found = {dataset: _summaries(frame, dataset, metric) for dataset in datasets(frame)}
    places = choose_decimals(one.mean for part in found.values() for one in part.values())
    texts = {}
    for dataset, part in found.items():
        bold = find_leaders(_competitors(part))
        for name, one in part.items():
            texts[dataset, name] = f"**{format_entry(one, places)}**" if name in bold else format_entry(one, places)
    return texts


def _summaries(frame: pd.DataFrame, dataset: str, metric: str) -> dict[str, Summary]:
    rows_of = variants(frame[COLUMNS], dataset)
    return {name: summarise(rows, metric) for name, rows in rows_of.items()}


def _competitors(summaries: dict[str, Summary]) -> dict[str, Summary]:
    """The methods as they compete: none counts as better than the oracle."""
    methods = {name: one for name, one in summaries.items() if not is_baseline(name)}
    truth = summaries.get("oracle")
    return methods if truth is None else {name: one.no_better_than(truth) for name, one in methods.items()}
