"""What the runs cost: evaluations of the network, which count, and seconds of one machine, for information."""

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.frontiers import find_frontiers
from ebmbench.report.text.images import show_images
from ebmbench.report.text.numbers import MISSING, format_count
from ebmbench.report.text.tables import format_name, markdown_table
from ebmbench.report.text.words import fold

TITLE = "Quality against compute"
ORDER = 20
ABOUT = (
    "The budget is in network passes; seconds and memory depend on the machine and decide nothing. Medians over the "
    "runs that ended well; `results.csv` also counts passes, gradients and other stages."
)
GIGA = 1e9
HEADER = ("dataset", "method", "10⁹ FLOPs", "steps", "train, s", "memory, MB")


def text(results: Results) -> str:
    """The figures, and medians over the good runs of each method; a baseline is not trained and has no row."""
    rows = []
    for dataset in results.datasets:
        methods = {name: part for name, part in variants(results.frame, dataset).items() if not is_baseline(name)}
        for place, (name, part) in enumerate(methods.items()):
            rows.append([f"`{dataset}`" if place == 0 else "", format_name(name), *_cells(part)])
    figures = show_images(results.images.get("costs", ()))
    figures = figures or ("" if find_frontiers(results) else "No run has both a quality and a cost.")
    counted = bool(((results.frame["metric"] == "flops") & results.frame["value"].notna()).any())
    table = [row if counted else [*row[:2], *row[3:]] for row in (list(HEADER), *rows)]
    costs = "\n\n".join([ABOUT, markdown_table(table[0], table[1:], left=2)])
    return "\n\n".join(filter(None, [figures, fold("What each method cost: FLOPs, steps, seconds, memory", costs)]))


def _cells(part: pd.DataFrame) -> list[str]:
    part = part[part["status"] == "ok"]
    runs = part.drop_duplicates("label")
    flops = _median(part, "flops")
    giga = MISSING if flops is None else f"{flops / GIGA:.3g}" if flops < 1e3 * GIGA else format_count(flops / GIGA)
    steps = format_count(runs["steps"].median()) if runs["steps"].notna().any() else MISSING
    seconds, memory = runs["seconds_train"].median(), runs["peak_memory_mb"].median()
    return [giga, steps, _decimal(seconds), format_count(memory)]


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None


def _decimal(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.1f}"
