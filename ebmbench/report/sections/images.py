"""The main tables of images, one for each dataset and kind of samples, and likelihoods by annealed importance sampling.

The rules are those of `tables`: bold are ties with the best inside a column of one table, hence inside one kind.
"""

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import AIS, IMAGE, direction, heading, variants
from ebmbench.report.results.kinds import NAMES, image_sets, kinds, slice_of
from ebmbench.report.sections.verdicts import verdict
from ebmbench.report.text.tables import column, markdown_table, title

BOUNDS = (
    "The held-out log-likelihood in nats per image, by annealed importance sampling (AIS). The forward estimate is on "
    "average too high (optimistic), the more so the smaller the effective share of its chains (ESS); the reverse one "
    "is too low (pessimistic) if its chains start at the model's own samples. Where the two cross there is no number. "
    "**The gap says how little is known**: a high optimistic value beside a wide gap is no merit."
)


def image_tables(frame: pd.DataFrame) -> list[str]:
    """A heading and a table for each dataset and kind."""
    return [
        f"### `{dataset}`, {NAMES[kind]}\n\n{kind_table(frame, dataset, kind)}"
        for dataset in image_sets(frame)
        for kind in kinds(frame, dataset)
    ]


def kind_table(frame: pd.DataFrame, dataset: str, kind: str) -> str:
    """Every method that has samples of this kind, in the metrics of images; baselines stand in each table."""
    return _table(slice_of(frame, dataset, kind), dataset, IMAGE)


def ais_table(frame: pd.DataFrame) -> str:
    """Likelihoods of the image datasets that have any; empty if none has."""
    texts = []
    for dataset in image_sets(frame):
        part = frame[frame["dataset"] == dataset]
        valued = part[part["metric"].isin(AIS) & part["value"].notna()]
        if len(valued):
            shown = {name for name, rows in variants(part, dataset).items() if not is_baseline(name)}
            shown |= set(variants(valued, dataset))
            texts.append(f"### `{dataset}`, likelihood\n\n{_table(part, dataset, AIS, shown)}")
    return "\n\n".join([*texts, BOUNDS] if texts else [])


def _table(part: pd.DataFrame, dataset: str, metrics: tuple[str, ...], shown: set[str] | None = None) -> str:
    columns = [column(part, metric) for metric in metrics]
    rows = [
        [title(name), *(texts[dataset, name] for texts in columns), verdict(runs)]
        for name, runs in variants(part, dataset).items()
        if shown is None or name in shown
    ]
    header = ["method", *(heading(metric, direction(part, metric)) for metric in metrics), "verdict"]
    return markdown_table(header, rows)
