"""The first table of the report: one number for each method and dataset, the median of KL over the seeds."""

import re

import pandas as pd

from ebmbench.report.cells import BASELINES
from ebmbench.report.groups import datasets, is_baseline, variants
from ebmbench.report.numbers import MISSING, decimals, number
from ebmbench.report.statistics import summarise, verdict
from ebmbench.report.tables import best_of, markdown_table, share, title

METRIC = "kl"
ABOUT = (
    "The median of KL(data‖model) over the seeds; smaller is better. Means with their intervals follow in the main "
    "table, and bold has the same meaning there."
)
ONE_SEED = "KL(data‖model) of the only seed; smaller is better. The other metrics follow in the main table."
PARTIAL = " A fraction in brackets counts the runs that gave a value where not all did; such a method is never bold."
FRACTION = re.compile(r"\(\d+/\d+\)")

Parts = dict[str, dict[str, pd.DataFrame]]


def glance(frame: pd.DataFrame) -> str:
    """The table, and a line that says what is in it."""
    parts = {dataset: variants(frame, dataset) for dataset in datasets(frame)}
    medians = [summarise(rows, METRIC).median for part in parts.values() for rows in part.values()]
    places = decimals(medians)
    bold = {dataset: best_of(frame, dataset, METRIC) for dataset in parts}
    rows = []
    for name in names(parts):
        texts = {dataset: cell(_rows(part, name), places) for dataset, part in parts.items()}
        marked = [f"**{text}**" if name in bold[dataset] else text for dataset, text in texts.items()]
        rows.append([title(name), *marked])
    table = markdown_table(["median KL ↓", *(f"`{dataset}`" for dataset in parts)], rows)
    about = ABOUT if frame["seed"].nunique() > 1 else ONE_SEED
    return f"{table}\n\n{about}{PARTIAL if FRACTION.search(table) else ''}"


def cell(rows: pd.DataFrame | None, places: int) -> str:
    """The median of one method on one dataset, with what befell its runs unless all gave a value."""
    if rows is None:
        return MISSING
    one, end = summarise(rows, METRIC), verdict(rows)
    if end in ("failed", "stale"):
        return f"{MISSING} ({end})"
    # Good runs of a method without an energy have no KL, and that is no failure of theirs.
    unknown = not one.values and end.endswith("ok")
    return number(one.median, places) + ("" if unknown else share(one))


def names(parts: Parts) -> list[str]:
    """All rows, baselines first, then the methods in the order of the suite; a failed cell adds no row to a sweep."""
    found = dict.fromkeys(name for part in parts.values() for name in part if name != BASELINES)
    order = list(dict.fromkeys(name.split(" ")[0] for name in found))
    swept = {name.split(" ")[0] for name in found if " " in name}
    kept = [name for name in found if name not in swept]
    return sorted(kept, key=lambda name: (not is_baseline(name), order.index(name.split(" ")[0])))


def _rows(part: dict[str, pd.DataFrame], name: str) -> pd.DataFrame | None:
    """A method's rows on a dataset; of a cell that failed as a whole there is one, without settings."""
    whole = BASELINES if is_baseline(name) else name.split(" ")[0]
    return part.get(name, part.get(whole))
