"""Means over the seeds in the main metrics: a table of toy data, and one for each image dataset.

Bold are ties with the best inside a column; of images that is inside one kind of samples, and the baselines, whose
samples are exact, stand above them all. Likelihoods of images have a table of their own. A metric that no run has a
value of has no column, and a table no more columns than a page of GitHub shows: the other metrics are in the full
results.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from ebmbench.config.registry import STAND_INS
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import BOUNDS, MAIN, RATIO, TRIO, datasets, direction, heading, variants
from ebmbench.report.results.kinds import EXACT, select_kind, table_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_verdicts
from ebmbench.report.text.tables import format_column, format_name, markdown_table
from ebmbench.report.text.words import PROTOCOL

TITLE = "Main table"
ORDER = 70
FOLDED = "Means over the seeds with their 95 % intervals"
IMAGE_COLUMNS = (RATIO, "precision", "coverage")
REMARK = (
    "Log-likelihoods in nats per image, between an optimistic and a pessimistic estimate of log Z; **the gap says how "
    f"little is known** ([how they are made]({PROTOCOL}#how-densities-are-judged))."
)


def text(results: Results) -> str:
    """All tables, toy data first."""
    images = [
        f"**`{dataset}`**\n\n{render_kinds(results, dataset, shown_metrics(results, dataset))}"
        for dataset in results.image_datasets
    ]
    return "\n\n".join(filter(None, [render_toys(results), *images, _render_likelihoods(results)]))


def shown_metrics(results: Results, dataset: str) -> list[str]:
    """The metrics of the first table: of images few, of toys the metric that decides and the trio.

    Where no run has a value of the trio, others stand in its place.
    """
    if dataset in results.image_datasets:
        return _with_values(results.frame[results.frame["dataset"] == dataset], IMAGE_COLUMNS)
    first = results.main_metric_of(dataset)
    frame, stand_ins = results.toys_by_metric[first], STAND_INS if first in STAND_INS else ()
    return _with_values(frame, dict.fromkeys([first, *MAIN, *stand_ins]))[: len({first, *TRIO})]


def render_toys(results: Results) -> str:
    """A table for all toy datasets on which the same metric decides; empty without toys."""
    return "\n\n".join(_render_toys(results, frame) for frame in results.toys_by_metric.values())


def _render_toys(results: Results, frame: pd.DataFrame) -> str:
    """Every method on these datasets, grouped by dataset, the metric that decides in front."""
    metrics = shown_metrics(results, datasets(frame)[0])
    columns = {metric: format_column(frame, metric) for metric in metrics}
    rows = []
    for dataset in datasets(frame):
        for place, (name, part) in enumerate(variants(frame, dataset).items()):
            cells = [columns[metric][dataset, name] for metric in metrics]
            rows.append([f"`{dataset}`" if place == 0 else "", format_name(name), *cells, describe_verdicts(part)])
    header = ["dataset", "method", *(heading(metric, direction(frame, metric)) for metric in metrics), "verdict"]
    return markdown_table(header, rows, left=2)


def _with_values(frame: pd.DataFrame, metrics: Iterable[str]) -> list[str]:
    """The first metric, and the others that any run has a value of; the trio, if computed, is shown together."""
    first, *others = metrics
    valued = set(frame.loc[frame["value"].notna(), "metric"])
    shown = valued.union(set(TRIO) & set(frame["metric"]) if valued & set(TRIO) else ())
    return [first, *(metric for metric in others if metric in shown)]


def render_kinds(results: Results, dataset: str, metrics: Sequence[str], verdict: bool = True) -> str:
    """Metrics of samples of images: baselines once, then the methods by kind of samples, in bold inside their kind."""
    kinds = table_kinds(results.frame, dataset)
    parts = {kind: select_kind(results.frame, dataset, kind) for kind in kinds}
    groups: dict[str, list[list[str]]] = {EXACT: []}
    for kind, part in parts.items():
        columns = [format_column(part, metric) for metric in metrics]
        for name, runs in variants(part, dataset).items():
            row = [format_name(name), *(texts[dataset, name] for texts in columns), describe_verdicts(runs)]
            row = row if verdict else row[:-1]
            if not is_baseline(name):
                groups.setdefault(kind, []).append(row)
            elif kind == kinds[0]:
                groups[EXACT].append(row)
    rows = [[kind if place == 0 else "", *row] for kind, part in groups.items() for place, row in enumerate(part)]
    header = ["samples", "method", *(heading(one, direction(results.frame, one)) for one in metrics)]
    header += ["verdict"] if verdict else []
    return markdown_table(header, rows, left=2)


def _render_likelihoods(results: Results) -> str:
    """Likelihoods by annealing of the datasets that have any; empty if none has."""
    texts = []
    for dataset in results.datasets:
        part = results.frame[results.frame["dataset"] == dataset]
        valued = part[part["metric"].isin(BOUNDS) & part["value"].notna()]
        if len(valued):
            shown = {name for name in variants(part, dataset) if not is_baseline(name)} | set(variants(valued, dataset))
            texts.append(f"**`{dataset}`, likelihood**\n\n{_likelihoods(part, dataset, shown)}")
    return "\n\n".join([*texts, REMARK] if texts else [])


def _likelihoods(part: pd.DataFrame, dataset: str, shown: set[str]) -> str:
    metrics = _with_values(part, BOUNDS)
    columns = [format_column(part, metric) for metric in metrics]
    names = [name for name in variants(part, dataset) if name in shown]
    rows = [[format_name(name), *(texts[dataset, name] for texts in columns)] for name in names]
    return markdown_table(["method", *(heading(metric, direction(part, metric)) for metric in metrics)], rows)
