"""Markdown tables of results: the main table of data in the plane, and everything about one dataset.

Methods that tie with the best are bold (see `statistics`). A number of fewer values than runs says so, `0.12 (4/5)`,
or whoever diverged would look good for it. Baselines stand first, in italics, and do not
compete: the oracle is the floor of each metric, the Gaussian a reference.
"""

from collections.abc import Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import MAIN, datasets, direction, heading, metrics, variants
from ebmbench.report.results.kinds import KINDS, is_image, of_kind, toys
from ebmbench.report.sections.verdicts import verdict
from ebmbench.report.statistics.seeds import Summary, leaders, summarise
from ebmbench.report.text.escaping import cell
from ebmbench.report.text.numbers import decimals, spread


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned left, the others right."""
    rule = [":---" if place < left else "---:" for place in range(len(header))]
    lines = ["| " + " | ".join(cell(text) for text in row) + " |" for row in (header, rule, *rows)]
    return "\n".join(lines)


def main_table(frame: pd.DataFrame) -> str:
    """Every method on every dataset that is not of images in the main metrics, grouped by dataset."""
    frame = toys(frame)
    columns = {metric: column(frame, metric) for metric in MAIN}
    rows = []
    for dataset in datasets(frame):
        for place, (name, part) in enumerate(variants(frame, dataset).items()):
            cells = [columns[metric][dataset, name] for metric in MAIN]
            rows.append([f"`{dataset}`" if place == 0 else "", title(name), *cells, verdict(part)])
    header = ["dataset", "method", *(heading(metric, direction(frame, metric)) for metric in MAIN), "verdict"]
    return markdown_table(header, rows, left=2)


def full_table(frame: pd.DataFrame, dataset: str) -> str:
    """All metrics of one dataset, one a row for each kind of samples, one column for each method."""
    part = frame[frame["dataset"] == dataset]
    names = list(variants(part, dataset))
    rows = []
    for metric, kind in measures(part, dataset):
        cells = column(of_kind(part, kind) if kind else part, metric)
        said = heading(f"{metric} ({kind})" if kind else metric, direction(part, metric))
        rows.append([said, *(cells[dataset, name] for name in names)])
    rows.append(["verdict", *(verdict(rows_of) for rows_of in variants(part, dataset).values())])
    return markdown_table(["metric", *(title(name) for name in names)], rows)


def measures(part: pd.DataFrame, dataset: str) -> list[tuple[str, str]]:
    """Metrics with any value on a dataset, by kind of samples where kinds must be told apart."""
    known = part[part["value"].notna()]
    found = []
    for metric in metrics(known):
        has = set(part.loc[part["metric"] == metric, "samples"])
        among = [kind for kind in KINDS if kind in has]
        named = is_image(part, dataset) or len(among) > 1
        found += [(metric, kind) for kind in among] if named and among else [(metric, "")]
    return found


def title(name: str) -> str:
    """How a method is written in a table."""
    return f"*{name.lstrip('_')}*" if is_baseline(name) else name


def share(one: Summary) -> str:
    """How many runs gave a value, if not all did: nothing may hide behind a mean or median of the others."""
    return "" if one.complete else f" ({len(one.values)}/{one.runs})"


def best_of(frame: pd.DataFrame, dataset: str, metric: str) -> set[str]:
    """The methods that are best or tie with the best on a dataset."""
    return leaders(_competitors(_summaries(frame, dataset, metric)))


def column(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], str]:
    """The text of a metric for each dataset and method, with one number of decimals for all."""
    found = {dataset: _summaries(frame, dataset, metric) for dataset in datasets(frame)}
    places = decimals(one.mean for part in found.values() for one in part.values())
    texts = {}
    for dataset, part in found.items():
        bold = leaders(_competitors(part))
        for name, one in part.items():
            text = spread(one.mean, one.half, places) + (share(one) if one.values else "")
            texts[dataset, name] = f"**{text}**" if name in bold else text
    return texts


def _summaries(frame: pd.DataFrame, dataset: str, metric: str) -> dict[str, Summary]:
    return {name: summarise(rows, metric) for name, rows in variants(frame, dataset).items()}


def _competitors(summaries: dict[str, Summary]) -> dict[str, Summary]:
    """The methods as they compete: none counts as better than the oracle."""
    methods = {name: one for name, one in summaries.items() if not is_baseline(name)}
    truth = summaries.get("oracle")
    return methods if truth is None else {name: one.no_better_than(truth) for name, one in methods.items()}
