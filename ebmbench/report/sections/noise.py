"""Xu's comparison of contrastive methods (2022, table 3.1), filled with numbers: from what noise each tells data.

What a method is, its file says: `NOISE`, `LEARNS_Z`, `ADVERSARIAL`. The rest is computed from the runs. In place of
his row "scalable" stands the FID ratio of images. Only for suites with at least three such methods: most have two, and
need no comparison of their own.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ebmbench.config import registry
from ebmbench.report.results.cells import LOST
from ebmbench.report.results.frame import natural
from ebmbench.report.results.groups import direction, heading, variants
from ebmbench.report.results.kinds import mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import row_names, rows_of
from ebmbench.report.sections.glance import format_cell
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.numbers import MISSING, ROUNDING, format_number, format_range
from ebmbench.report.text.tables import markdown_table

TITLE = "Which noise to learn from"
ORDER = 15
FEWEST = 3  # methods
REFERENCE = "nce"  # whose cost is 1
ERROR = "log_z_error"
WHAT = (
    "These methods learn an energy by telling data from noise. On the left is what they are: where the noise comes "
    "from, whether log Z is learned as a number beside the energy, and whether the noise is trained against the energy "
    "(the comparison of Xu 2022, table 3.1). On the right are medians over the seeds with their range{images}."
)
IMAGES = "; of images, of short runs from noise"
HOW = (
    "*Ended*: runs that came to their end, of all. *Worst/best seed*: the ratio of their {metric}, the largest among "
    "the datasets; ∞ where a run has no value. *Seconds* and *FLOPs* of training are multiples of those of "
    "`{reference}` for as many network passes: the median of the datasets and, in brackets, their range. Seconds "
    "depend on the machine."
)
LEARNED = " *Error of log Z*: how far the learned number is from the integral, again as median and range."

Parts = dict[str, dict[str, pd.DataFrame]]  # by dataset, by method with its settings


def text(results: Results) -> str:
    """What the methods are and learned, then how steady they were and what they cost; empty if they are few."""
    parts: Parts = {}
    for dataset in results.datasets:
        images = dataset in results.image_datasets
        parts[dataset] = variants(mask_other_kinds(results.frame, "short") if images else results.toys, dataset)
    order = results.methods
    names = [name for name in row_names(parts.values()) if _entry(name).noise]
    names = sorted(names, key=lambda name: (order.index(name.split(" ")[0]), natural(name)))
    if len({name.split(" ")[0] for name in names}) < FEWEST:
        return ""
    return "\n\n".join([*_learned(results, parts, names), *_steadiness(results, parts, names)])


def _entry(name: str) -> registry.Entry:
    """What the method's file says; of a method without a file, or a baseline, nothing."""
    method = name.split(" ")[0]
    return registry.entries("methods").get(method, registry.Entry(method, "", "", 0))


def _learned(results: Results, parts: Parts, names: Sequence[str]) -> Iterator[str]:
    columns = _columns(results, {dataset: results.main_metric_of(dataset) for dataset in parts}, parts, names)
    rows = []
    for name in names:
        one = _entry(name)
        facts = [one.noise, *("yes" if fact else "no" for fact in (one.learns_z, one.adversarial))]
        rows.append([name, *facts, *(column[name] for column in columns.values())])
    yield markdown_table(["method", "noise", "learns log Z", "adversarial", *columns], rows, left=2)
    yield WHAT.format(images=IMAGES if set(parts) & set(results.image_datasets) else "")


def _steadiness(results: Results, parts: Parts, names: Sequence[str]) -> Iterator[str]:
    reference = REFERENCE if REFERENCE in names else names[0]
    errors = _columns(results, dict.fromkeys(parts, ERROR), parts, names)
    rows = []
    for name in names:
        cost = [_multiples(parts, name, reference, column) for column in ("seconds_train", "flops")]
        learned = [one[name] if _entry(name).learns_z else MISSING for one in errors.values()]
        rows.append([name, _ended(parts, name), _spread(results, parts, name), *cost, *learned])
    header = ["method", "ended", "worst/best seed", "seconds", "FLOPs", *errors]
    yield markdown_table(header, rows)
    metric = " or ".join(dict.fromkeys(heading(results.main_metric_of(dataset), "") for dataset in parts))
    yield HOW.format(metric=metric, reference=reference) + (LEARNED if errors else "")


def _columns(
    results: Results, metrics: Mapping[str, str], parts: Parts, names: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The entries of all methods by the heading of a dataset; datasets on which no method has a value are left out."""
    found = {}
    for dataset, metric in metrics.items():
        texts = {name: format_cell(rows_of(parts[dataset], name), metric) for name in names}
        if any(summarise(rows, metric).values for name in names if (rows := rows_of(parts[dataset], name)) is not None):
            found[f"{heading(metric, direction(results.frame, metric))} `{dataset}`"] = texts
    return found


def _runs(part: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """The rows of the runs of a method on a dataset, without those that were skipped."""
    rows = rows_of(part, name)
    return pd.DataFrame(columns=["label", "status"]) if rows is None else rows[~rows["status"].isin([*LOST, "skipped"])]


def _ended(parts: Parts, name: str) -> str:
    """`17/18`."""
    statuses = [status for part in parts.values() for status in _runs(part, name).drop_duplicates("label")["status"]]
    return f"{statuses.count('ok')}/{len(statuses)}" if statuses else MISSING


def _spread(results: Results, parts: Parts, name: str) -> str:
    """How many times as large as the best seed's the worst seed's value is, on the dataset where that is most."""
    ratios = []
    for dataset, part in parts.items():
        rows = rows_of(part, name)
        one = summarise(rows, results.main_metric_of(dataset)) if rows is not None else None
        if one is not None and one.runs > 1 and one.values and min(one.values.values()) > 0:
            ratios.append(max(one.values.values()) / min(one.values.values()) if one.complete else math.inf)
    return format_number(max(ratios, default=None))


def _multiples(parts: Parts, name: str, reference: str, cost: str) -> str:
    """A cost in multiples of the reference's: the median of the datasets and their range."""
    both = [[_cost(_runs(part, one), cost) for one in (name, reference)] for part in parts.values()]
    ratios = [own / known for own, known in both if np.isfinite(own / known)]
    if not ratios:
        return MISSING
    low, high = min(ratios), max(ratios)
    return format_number(float(np.median(ratios))) + (
        f"\u00a0({format_range(low, high)})" if high - low > ROUNDING else ""
    )


def _cost(rows: pd.DataFrame, cost: str) -> float:
    """The median over good runs of a column, or of a metric."""
    good = rows[rows["status"] == "ok"]
    if cost in good:
        return float(good.drop_duplicates("label")[cost].median())
    return float(good.loc[good["metric"] == cost, "value"].median()) if len(good) else float("nan")
