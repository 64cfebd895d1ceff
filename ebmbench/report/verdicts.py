"""The health of runs, as the evaluation judged it: a column of every main table, and all reasons in one place.

Reports from before there were verdicts have the status of a run in their place.
"""

from typing import Any

import pandas as pd

from ebmbench.core.params import Health
from ebmbench.report.frame import variant
from ebmbench.report.groups import is_baseline
from ebmbench.report.literal import literal
from ebmbench.report.numbers import MISSING, count, number
from ebmbench.report.phrases import merged

# From the best to the worst; how each is explained where the verdicts are listed.
ABOUT = {
    "ok": "none of what follows (chains of annealed samplers are not stationary and have no R̂ to be judged by)",
    "unmixed": "the chains behind the long-run samples have not met (R̂ above {r_hat}, or fewer than {ess} effective "
    "draws): they say where chains end, not how the model weighs its modes; this tells of the sampler as much as of "
    "the model, and a run may be unmixed and still the best",
    "short-run-only": "long runs collapse: their main metric is more than {collapse} times that of short runs",
    "miscalibrated": "the energy is not the logarithm of the density it seems to have: no grid holds its mass, or the "
    "bracket of log Z is crossed",
    "diverged": "training met a value that is not finite, and stopped",
    "skipped": "the method does not apply",
    "failed": "the cell has no valid numbers",
    "stale": "the cell's numbers are of older models",
}
CELLS = ("failed", "stale")


def verdict(rows: pd.DataFrame) -> str:
    """The runs of one method by verdict, `3/3 ok` or `2/3 unmixed, 1/3 diverged`; a cell without runs by one word."""
    if lost := lost_cell(rows):
        return lost
    words = _words(rows.drop_duplicates("label"))
    counts = words.value_counts()
    found = [word for word in ABOUT if word in counts.index]
    return ", ".join(f"{counts[word]}/{len(words)} {word}" for word in found)


def lost_cell(rows: pd.DataFrame) -> str:
    """`failed` or `stale` if that is all there is; else nothing."""
    return str(rows["status"].iloc[0]) if len(rows) and rows["status"].isin(CELLS).all() else ""


def meanings(frame: pd.DataFrame, params: dict[str, Any]) -> str:
    """What the words that occur mean, with the limits of this suite."""
    limits = Health().model_dump() | (params.get("metrics") or {}).get("health", {})
    shown = {name: f"{value:g}" for name, value in limits.items()}
    words = set(_words(_known(frame)))
    return "\n".join(f"- *{word}*: {text.format(**shown)}." for word, text in ABOUT.items() if word in words)


def tally(frame: pd.DataFrame) -> dict[str, int]:
    """How many trained runs have which verdict, best first."""
    words = _words(_trained(frame))
    return {word: int((words == word).sum()) for word in ABOUT if (words == word).any()}


def health_table(frame: pd.DataFrame) -> list[list[str]]:
    """Dataset, method, verdicts, why, and the medians of R̂ and ESS: a row for each method."""
    rows = []
    for (dataset, method, settings), part in _known(frame).groupby(["dataset", "method", "settings"], sort=False):
        reasons = [text for whole in part.drop_duplicates("label")["verdict_reason"] for text in whole.split("; ")]
        numbers = [number(_median(part, "r_hat"), 2), count(_median(part, "ess"))]
        why = "; ".join(merged(filter(None, reasons)))
        rows.append([f"`{dataset}`", variant(method, settings), verdict(part), literal(why) or MISSING, *numbers])
    return rows


def _known(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame["method"].map(is_baseline).astype(bool)]


def _trained(frame: pd.DataFrame) -> pd.DataFrame:
    known = _known(frame)
    return known[~known["status"].isin(CELLS)].drop_duplicates(["dataset", "method", "label"])


def _words(runs: pd.DataFrame) -> pd.Series:
    return runs["verdict"].where(runs["verdict"] != "", runs["status"])


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None
