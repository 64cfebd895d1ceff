"""All metrics that the main table does not have, folded; the values of each run are in `results.csv`."""

import pandas as pd

from ebmbench.report.results.groups import BOUNDS, direction, heading, metrics, variants
from ebmbench.report.results.kinds import KINDS, mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.sections.main_table import render_kinds, shown_metrics
from ebmbench.report.text.tables import format_column, format_name, markdown_table
from ebmbench.report.text.words import PROTOCOL, fold

TITLE = "Other metrics"
ORDER = 90
ABOUT = f"Every value of every run is in [results.csv](results.csv), each metric in [the protocol]({PROTOCOL}#metrics)."


def text(results: Results) -> str:
    """A folded table for each dataset."""
    found = {dataset: _table(results, dataset) for dataset in results.datasets}
    folded = [fold(dataset, table) for dataset, table in found.items() if table]
    return "\n\n".join([ABOUT, *folded])


def _table(results: Results, dataset: str) -> str:
    """Of images a table of the metrics that judge samples, by kind; then one of all that need no kind."""
    part = results.frame[results.frame["dataset"] == dataset]
    told = {*shown_metrics(results, dataset), *(BOUNDS if dataset in results.image_datasets else ())}
    names = [name for name in metrics(part[part["value"].notna()]) if name not in told]
    by_kind = [name for name in names if dataset in results.image_datasets and _has_kinds(part, name)]
    rest = [name for name in names if name not in by_kind]
    kinds = render_kinds(results, dataset, by_kind, verdict=False) if by_kind else ""
    return "\n\n".join(filter(None, [kinds, _render_rest(part, dataset, rest)]))


def _has_kinds(part: pd.DataFrame, metric: str) -> bool:
    return bool(part.loc[part["metric"] == metric, "samples"].isin(KINDS).any())


def _render_rest(part: pd.DataFrame, dataset: str, names: list[str]) -> str:
    """A row for each metric, and kind of samples if there are several; a column for each method."""
    methods = [name for name, rows in variants(part, dataset).items() if rows["metric"].isin(names).any()]
    rows = []
    for metric in names:
        found = set(part.loc[part["metric"] == metric, "samples"])
        among = [kind for kind in KINDS if kind in found]
        for kind in among if len(among) > 1 else [""]:
            cells = format_column(mask_other_kinds(part, kind) if kind else part, metric)
            first = heading(f"{metric} ({kind})" if kind else metric, direction(part, metric))
            rows.append([first, *(cells[dataset, name] for name in methods)])
    return markdown_table(["metric", *(format_name(name) for name in methods)], rows) if rows else ""
