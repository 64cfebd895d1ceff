"""The first tables of the report: one number for each method and dataset, the median over the seeds of KL, and of the
FID ratio for images, where each kind of samples has a column of its own.
"""

import re
from dataclasses import dataclass

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, datasets, variants
from ebmbench.report.results.kinds import image_sets, kinds, slice_of, toys
from ebmbench.report.sections.verdicts import lost_cell
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.numbers import MISSING, decimals, number
from ebmbench.report.text.tables import best_of, markdown_table, share, title
from ebmbench.workspace.layout import BASELINES

METRIC = "kl"
ABOUT = (
    "The median of KL(data‖model) over the seeds; smaller is better. Means with their intervals follow in the main "
    "table, and bold has the same meaning there."
)
ONE_SEED = "KL(data‖model) of the only seed; smaller is better. The other metrics follow in the main table."
IMAGES = (
    "{which}: the FID divided by that of test images with noise (*noisy*), for each kind of samples on its own; "
    "smaller is better. Compare inside a column only: kinds of samples are different distributions, and not every "
    "method has all of them. {more} follow in the main table."
)
PARTIAL = " A fraction in brackets counts the runs that gave a value where not all did; such a method is never bold."
FRACTION = re.compile(r"\(\d+/\d+\)")

Parts = dict[str, dict[str, pd.DataFrame]]


@dataclass(frozen=True)
class Column:
    """A dataset's rows, of one kind of samples if it has several."""

    heading: str
    dataset: str
    frame: pd.DataFrame


def glance(frame: pd.DataFrame) -> str:
    """The tables, each with a line that says what is in it."""
    several = frame["seed"].nunique() != 1
    plane = [Column(f"`{dataset}`", dataset, toys(frame)) for dataset in datasets(toys(frame))]
    pictured = [
        Column(f"`{dataset}`, {kind}", dataset, slice_of(frame, dataset, kind))
        for dataset in image_sets(frame)
        for kind in kinds(frame, dataset)
    ]
    which = "The median FID ratio over the seeds" if several else "The FID ratio of the only seed"
    about = IMAGES.format(which=which, more="Means with their intervals" if several else "The other metrics")
    order = list(dict.fromkeys(frame["method"]))
    parts = [_table("median KL ↓", METRIC, plane, order) + (ABOUT if several else ONE_SEED)] if plane else []
    parts += [_table("median FID ratio ↓", RATIO, pictured, order) + about] if pictured else []
    return "\n\n".join(part + (PARTIAL if FRACTION.search(part) else "") for part in parts)


def _table(corner: str, metric: str, columns: list[Column], order: list[str]) -> str:
    """One table; methods come in the given order, whatever the first column has."""
    parts = {one.heading: variants(one.frame, one.dataset) for one in columns}
    medians = [summarise(rows, metric).median for part in parts.values() for rows in part.values()]
    places = decimals(medians)
    bold = {one.heading: best_of(one.frame, one.dataset, metric) for one in columns}
    rows = []
    for name in names(parts, order):
        texts = {column: cell(_rows(part, name), metric, places) for column, part in parts.items()}
        marked = [f"**{text}**" if name in bold[column] else text for column, text in texts.items()]
        rows.append([title(name), *marked])
    return markdown_table([corner, *parts], rows) + "\n\n"


def cell(rows: pd.DataFrame | None, metric: str, places: int) -> str:
    """The median of one method on one dataset, with what befell its runs unless all gave a value."""
    if rows is None:
        return MISSING
    one, lost = summarise(rows, metric), lost_cell(rows)
    if lost:
        return f"{MISSING} ({lost})"
    # Good runs of a method without an energy have no KL, and that is no failure of theirs.
    unknown = not one.values and (rows["status"] == "ok").all()
    return number(one.median, places) + ("" if unknown else share(one))


def names(parts: Parts, order: list[str]) -> list[str]:
    """All rows, baselines first, then the methods in the order of the suite; a failed cell adds no row to a sweep."""
    found = dict.fromkeys(name for part in parts.values() for name in part if name != BASELINES)
    swept = {name.split(" ")[0] for name in found if " " in name}
    kept = [name for name in found if name not in swept]
    return sorted(kept, key=lambda name: (not is_baseline(name), order.index(name.split(" ")[0])))


def _rows(part: dict[str, pd.DataFrame], name: str) -> pd.DataFrame | None:
    """A method's rows on a dataset; of a cell that failed as a whole there is one, without settings."""
    whole = BASELINES if is_baseline(name) else name.split(" ")[0]
    return part.get(name, part.get(whole))
