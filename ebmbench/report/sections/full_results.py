"""All metrics of each dataset, folded; the values of each run are in `results.csv`."""

import pandas as pd

from ebmbench.report.results.groups import direction, heading, metrics, variants
from ebmbench.report.results.kinds import KINDS, mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_verdicts
from ebmbench.report.text.tables import format_column, format_name, markdown_table

TITLE = "Full results"
ORDER = 110


def text(results: Results) -> str:
    """A folded table for each dataset."""
    folded = [
        f"<details>\n<summary>{dataset}</summary>\n\n{_table(results, dataset)}\n\n</details>"
        for dataset in results.datasets
    ]
    return "\n\n".join(["Every value of every run is in [results.csv](results.csv).", *folded])


def _table(results: Results, dataset: str) -> str:
    """A row for each metric and kind of samples, a column for each method."""
    part = results.frame[results.frame["dataset"] == dataset]
    methods = variants(part, dataset)
    rows = []
    for metric, kind in _measures(part, dataset in results.image_datasets):
        cells = format_column(mask_other_kinds(part, kind) if kind else part, metric)
        first = heading(f"{metric} ({kind})" if kind else metric, direction(part, metric))
        rows.append([first, *(cells[dataset, name] for name in methods)])
    rows.append(["verdict", *(describe_verdicts(runs) for runs in methods.values())])
    return markdown_table(["metric", *(format_name(name) for name in methods)], rows)


def _measures(part: pd.DataFrame, is_image: bool) -> list[tuple[str, str]]:
    """Metrics with any value, by kind of samples if the data are images or there are several kinds."""
    found = []
    for metric in metrics(part[part["value"].notna()]):
        has = set(part.loc[part["metric"] == metric, "samples"])
        among = [kind for kind in KINDS if kind in has]
        by_kind = among and (is_image or len(among) > 1)
        found += [(metric, kind) for kind in among] if by_kind else [(metric, "")]
    return found
