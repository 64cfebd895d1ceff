"""What the runs cost: evaluations of the network (part of the results) and seconds (of one machine, for
information).
"""

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import COSTS, datasets, variants
from ebmbench.report.results.table import TIMINGS
from ebmbench.report.text.numbers import MISSING, count
from ebmbench.report.text.tables import markdown_table, title

HEADER = (
    "dataset",
    "method",
    "passes",
    "steps",
    "energy",
    "∇ input",
    "∇ parameters",
    "train, s",
    "sample, s",
    "evaluate, s",
    "peak memory, MB",
)


def cost_table(frame: pd.DataFrame) -> str:
    """Medians over the good runs of each method; a baseline is not trained and has no row."""
    rows = []
    for dataset in datasets(frame):
        methods = {name: part for name, part in variants(frame, dataset).items() if not is_baseline(name)}
        for place, (name, part) in enumerate(methods.items()):
            rows.append([f"`{dataset}`" if place == 0 else "", title(name), *_cells(part)])
    return markdown_table(HEADER, rows, left=2)


def budgets(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The fewest and the most passes of the runs that reached their end, by dataset."""
    reached = frame[(frame["status"] == "ok") & (frame["metric"] == "passes") & frame["steps"].notna()]
    passes = reached.dropna(subset="value").groupby("dataset", sort=False)["value"]
    return {str(dataset): (float(values.min()), float(values.max())) for dataset, values in passes}


def equal(low: float, high: float) -> bool:
    """Whether budgets are the same: the last step of a run may overshoot a little."""
    return high <= 1.02 * low


def _cells(part: pd.DataFrame) -> list[str]:
    part = part[part["status"] == "ok"]
    runs = part.drop_duplicates("label")
    energy, inputs, parameters, passes = (count(_median(part, name)) for name in COSTS)
    seconds = [_decimal(runs[name].median()) for name in TIMINGS[:3]]
    steps = count(runs["steps"].median()) if runs["steps"].notna().any() else MISSING
    memory = count(runs["peak_memory_mb"].median())
    return [passes, steps, energy, inputs, parameters, *seconds, memory]


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None


def _decimal(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.1f}"
