"""The health of the runs: their verdicts with all reasons, and what the words mean."""

import pandas as pd

from ebmbench.config.sections import Health
from ebmbench.report.results.frame import variant
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import MEANINGS, describe_side, describe_verdicts, rows_of_methods, words_of
from ebmbench.report.text.escaping import escape_text
from ebmbench.report.text.numbers import MISSING, format_count, format_number
from ebmbench.report.text.tables import markdown_table
from ebmbench.report.text.words import merge_sentences

TITLE = "Health of the runs"
ORDER = 60
ABOUT = (
    "What a reader must know of a run before believing its numbers. Its density (the numbers that need the energy) and "
    "its sampler (the numbers that need long runs) are judged apart; the verdict is the worse of the two. All reasons "
    "are given, with the range of their numbers over the runs."
)
SIDES = ("density", "sampler")


def text(results: Results) -> str:
    """What the words mean, and a row for each method."""
    rows = []
    sides = [side for side in SIDES if (results.frame[f"{side}_verdict"] != "").any()]  # none in earlier results
    for (dataset, method, settings), part in rows_of_methods(results.frame).groupby(
        ["dataset", "method", "settings"], sort=False
    ):
        reasons = [one for whole in part.drop_duplicates("label")["verdict_reason"] for one in whole.split("; ")]
        numbers = [format_number(_median(part, "r_hat"), 2), format_count(_median(part, "ess"))]
        why = escape_text("; ".join(merge_sentences(filter(None, reasons)))) or MISSING
        words = [describe_verdicts(part), *(describe_side(part, side) or MISSING for side in sides)]
        rows.append([f"`{dataset}`", variant(method, settings), *words, why, *numbers])
    header = ("dataset", "method", "verdict", *sides, "why", "median R̂", "median ESS")
    return "\n\n".join([ABOUT, _meanings(results), markdown_table(header, rows, left=len(header) - 2)])


def _meanings(results: Results) -> str:
    """The words that occur, with the limits of this suite (a dataset's own overrides are not named)."""
    limits = Health().model_dump() | (results.params.get("metrics") or {}).get("health", {})
    shown = {name: f"{value:g}" for name, value in limits.items()}
    rows = rows_of_methods(results.frame)
    words = {*words_of(rows), *rows["density_verdict"], *rows["sampler_verdict"]}
    return "\n".join(f"- *{word}*: {meaning.format(**shown)}." for word, meaning in MEANINGS.items() if word in words)


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None
