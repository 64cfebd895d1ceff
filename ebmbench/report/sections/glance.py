"""The first tables: one number for each method and dataset, the median over the seeds of the main metric.

On images that is the FID ratio, and each kind of samples has a column of its own. Data at several budgets have tables
of their own in the section `frontier`.
"""

import math
import re
from dataclasses import dataclass

import pandas as pd

from ebmbench.config import registry
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, datasets, direction, heading, short_name, variants
from ebmbench.report.results.kinds import select_kind, table_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import lost_cell, row_names, rows_of
from ebmbench.report.statistics.frontiers import drop_frontiers, find_frontiers
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import MISSING, ROUNDING, format_number, format_range
from ebmbench.report.text.tables import find_best, format_name, format_share, markdown_table

TITLE = "At a glance"
ORDER = 10
MEDIAN = (
    "The median of {name} over the seeds and, in brackets, their range{better}. **Bold**: best, or not told from the "
    "best by these seeds. Means with intervals are in the [main table](#main-table)."
)
ONE_SEED = "{name} of the only seed{better}. The other metrics are in the [main table](#main-table)."
IMAGES = (
    "{which}: the FID divided by that of noisy test images; smaller is better. Compare inside a column only: kinds of "
    "samples are different distributions."
)
PARTIAL = " A fraction in brackets counts the runs that gave a value; where some did not, a method is never bold."
BETTER = {"lower": "; smaller is better", "higher": "; larger is better"}
FRACTION = re.compile(r"\(\d+/\d+\)")

Parts = dict[str, dict[str, pd.DataFrame]]


@dataclass(frozen=True)
class Column:
    """A dataset's rows, of one kind of samples if it has several."""

    heading: str
    dataset: str
    frame: pd.DataFrame


def text(results: Results) -> str:
    """The tables, each with a paragraph that says what is in it."""
    results = drop_frontiers(results, find_frontiers(results))
    parts = [*_toys(results), *_images(results)]
    return "\n\n".join(part + (PARTIAL if FRACTION.search(part) else "") for part in parts)


def _toys(results: Results) -> list[str]:
    """A table for each metric that decides on some of the datasets."""
    parts = []
    for metric, toys in results.toys_by_metric.items():
        columns = [Column(f"`{dataset}`", dataset, toys) for dataset in datasets(toys)]
        better = BETTER.get(_direction(toys, metric), "")
        about = (ONE_SEED if _one_seed(results) else MEDIAN).format(name=short_name(metric), better=better)
        parts.append(_table(results, metric, columns) + about)
    return parts


def _images(results: Results) -> list[str]:
    columns = [
        Column(f"`{dataset}`, {kind}", dataset, select_kind(results.frame, dataset, kind))
        for dataset in results.image_datasets
        for kind in table_kinds(results.frame, dataset)
    ]
    which = (
        "The FID ratio of the only seed"
        if _one_seed(results)
        else "The median FID ratio over the seeds and, in brackets, their range"
    )
    return [_table(results, RATIO, columns) + IMAGES.format(which=which)] if columns else []


def _direction(frame: pd.DataFrame, metric: str) -> str:
    """As the results have it; as the metric's file says if no run has a row of it."""
    known = registry.entries("metrics").get(metric)
    return direction(frame, metric) or (known.direction if known else "")


def _one_seed(results: Results) -> bool:
    return results.frame["seed"].nunique() == 1


def _table(results: Results, metric: str, columns: list[Column]) -> str:
    """One table; methods come in the order of the suite, whatever the first column has."""
    parts = {one.heading: variants(one.frame, one.dataset) for one in columns}
    bold = {one.heading: find_best(one.frame, one.dataset, metric) for one in columns}
    rows = []
    for name in _names(parts, list(dict.fromkeys(results.frame["method"]))):
        texts = {column: format_cell(rows_of(part, name), metric) for column, part in parts.items()}
        if is_baseline(name) and set(texts.values()) == {MISSING}:  # as the truth, where it is not known
            continue
        rows.append(
            [format_name(name), *(f"**{one}**" if name in bold[column] else one for column, one in texts.items())]
        )
    corner = heading(metric, _direction(results.frame, metric))
    return markdown_table([f"median {corner}", *parts], rows) + "\n\n"


def format_cell(rows: pd.DataFrame | None, metric: str) -> str:
    """The median of one method on one dataset; `(2/3)` or `(failed)` says why not all runs gave a value."""
    if rows is None:
        return MISSING
    one, lost = summarise(rows, metric), lost_cell(rows)
    if lost:
        return f"{MISSING} ({lost})"
    # Good runs of a method without an energy have no KL, which is no failure.
    unknown = not one.values and (rows["status"] == "ok").all()
    return format_number(one.median) + (_range(one) if one.complete else "" if unknown else format_share(one))


def _range(one: Summary) -> str:
    """From the worst seed to the best; empty if all gave the same."""
    low, high = min(one.values.values()), max(one.values.values())
    return f"\u00a0({format_range(low, high)})" if math.isfinite(high - low) and high - low > ROUNDING else ""


def _names(parts: Parts, order: list[str]) -> list[str]:
    """All rows, baselines first, then the methods in the given order."""
    rows = row_names(parts.values())
    return sorted(rows, key=lambda name: (not is_baseline(name), order.index(name.split(" ")[0])))
