"""Means over the seeds in the main metrics: toy data in one table, images in one for each dataset and kind of samples.

Bold are ties with the best inside a column; of images that is inside one kind of samples. Likelihoods of images by
annealed importance sampling have a table of their own. A metric that no run has a value of has no column.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import BOUNDS, IMAGE, MAIN, TRIO, datasets, direction, heading, variants
from ebmbench.report.results.kinds import NAMES, select_kind, table_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_verdicts
from ebmbench.report.text.tables import format_column, format_name, markdown_table

TITLE = "Main table"
ORDER = 40
REMARK = (
    "The held-out log-likelihood in nats per image, by annealed importance sampling (AIS). The forward estimate is on "
    "average too high (optimistic), the more so the smaller the effective share of its chains (ESS); the reverse one "
    "is too low (pessimistic) once its chains have settled. Where they have not, or the two cross, there is no number. "
    "**The gap says how little is known**: a high optimistic value beside a wide gap is no merit. "
    "Noise ladders are judged by the ODE of their flow instead."
)


def text(results: Results) -> str:
    """All tables, toy data first."""
    return "\n\n".join(filter(None, [render_toys(results), *_render_images(results), _render_likelihoods(results)]))


def render_toys(results: Results) -> str:
    """Every method on every toy dataset, grouped by dataset, the suite's first metric in front; empty without toys."""
    frame = results.toys
    if frame.empty:
        return ""
    metrics = _with_values(frame, dict.fromkeys([results.main_metric, *MAIN]))
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


def _render_images(results: Results) -> list[str]:
    """A table for each dataset and kind of samples, with the methods that have them; baselines stand in each."""
    return [
        f"### `{dataset}`, {NAMES[kind]}\n\n{_table(select_kind(results.frame, dataset, kind), dataset, IMAGE)}"
        for dataset in results.image_datasets
        for kind in table_kinds(results.frame, dataset)
    ]


def _render_likelihoods(results: Results) -> str:
    """Likelihoods by annealing of the datasets that have any; empty if none has."""
    texts = []
    for dataset in results.datasets:
        part = results.frame[results.frame["dataset"] == dataset]
        valued = part[part["metric"].isin(BOUNDS) & part["value"].notna()]
        if len(valued):
            shown = {name for name in variants(part, dataset) if not is_baseline(name)} | set(variants(valued, dataset))
            texts.append(f"### `{dataset}`, likelihood\n\n{_table(part, dataset, BOUNDS, shown)}")
    return "\n\n".join([*texts, REMARK] if texts else [])


def _table(part: pd.DataFrame, dataset: str, metrics: Sequence[str], shown: set[str] | None = None) -> str:
    metrics = _with_values(part[part["dataset"] == dataset], metrics)
    columns = [format_column(part, metric) for metric in metrics]
    rows = [
        [format_name(name), *(texts[dataset, name] for texts in columns), describe_verdicts(runs)]
        for name, runs in variants(part, dataset).items()
        if shown is None or name in shown
    ]
    header = ["method", *(heading(metric, direction(part, metric)) for metric in metrics), "verdict"]
    return markdown_table(header, rows)
