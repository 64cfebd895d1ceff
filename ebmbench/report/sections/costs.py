"""What the runs cost: evaluations of the network, which count, and seconds of one machine, for information."""

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import COSTS, variants
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import TIMINGS
from ebmbench.report.text.images import show_images
from ebmbench.report.text.numbers import MISSING, format_count
from ebmbench.report.text.tables import format_name, markdown_table

TITLE = "Cost against quality"
ORDER = 100
ABOUT = (
    "The budget is counted in network passes and equal for all methods by protocol; steps and evaluations "
    "say how a method spends it. {flops}Seconds and memory depend on the machine and on what else it did; "
    "they are for information only, and nothing was stopped or chosen by them. Entries are medians "
    "over the runs that ended well."
)
FLOPS = (
    "A pass is not always as much arithmetic: FLOPs count the multiplications and additions of all matrix products of "
    "a training run, here in thousands of millions. "
)
GIGA = 1e9
HEADER = (
    *("dataset", "method", "passes", "10⁹ FLOPs", "steps", "energy", "∇ input", "∇ parameters"),
    *("train, s", "sample, s", "evaluate, s", "peak memory, MB"),
)


def text(results: Results) -> str:
    """The figures, and medians over the good runs of each method; a baseline is not trained and has no row."""
    rows = []
    for dataset in results.datasets:
        methods = {name: part for name, part in variants(results.frame, dataset).items() if not is_baseline(name)}
        for place, (name, part) in enumerate(methods.items()):
            rows.append([f"`{dataset}`" if place == 0 else "", format_name(name), *_cells(part)])
    figures = show_images(results.images.get("costs", ())) or "No run has both a quality and a cost."
    counted = bool(((results.frame["metric"] == "flops") & results.frame["value"].notna()).any())
    table = [row if counted else [*row[:3], *row[4:]] for row in (list(HEADER), *rows)]
    about = ABOUT.format(flops=FLOPS if counted else "")
    return "\n\n".join([figures, about, markdown_table(table[0], table[1:], left=2)])


def _cells(part: pd.DataFrame) -> list[str]:
    part = part[part["status"] == "ok"]
    runs = part.drop_duplicates("label")
    *counts, flops = (_median(part, name) for name in COSTS)
    energy, inputs, parameters, passes = map(format_count, counts)
    giga = MISSING if flops is None else f"{flops / GIGA:.3g}" if flops < 1e3 * GIGA else format_count(flops / GIGA)
    seconds = [_decimal(runs[name].median()) for name in TIMINGS[:3]]
    steps = format_count(runs["steps"].median()) if runs["steps"].notna().any() else MISSING
    memory = format_count(runs["peak_memory_mb"].median())
    return [passes, giga, steps, energy, inputs, parameters, *seconds, memory]


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None


def _decimal(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.1f}"
