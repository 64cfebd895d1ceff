"""Reasons that differ in their numbers only, said once: "is 1.2 to 3.4", not three times nearly the same.

The health of runs, as the evaluation judged it: a column of every main table, and all reasons in one place.

Reports from before there were verdicts have the status of a run in their place.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ebmbench.config.sections import Health
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import LOST, OTHERWISE
from ebmbench.report.results.frame import variant
from ebmbench.report.text.escaping import literal
from ebmbench.report.text.numbers import MISSING, count, number

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
HOLE = "\0"


def merged(texts: Iterable[str]) -> list[str]:
    """The different sentences, in the order in which they first come, each with the range of its numbers."""
    found: dict[str, list[list[str]]] = {}
    for text in texts:
        found.setdefault(shape(text), []).append(NUMBER.findall(text))
    return [_filled(form, numbers) for form, numbers in found.items()]


def shape(text: str) -> str:
    """The sentence with holes in place of its numbers."""
    return NUMBER.sub(HOLE, text)


def _filled(form: str, numbers: Sequence[Sequence[str]]) -> str:
    first, *rest = form.split(HOLE)
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    return first + "".join(text + after for text, after in zip(ranges, rest, strict=True))


def _range(values: Sequence[str]) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"


# From the best to the worst; how each is explained where the verdicts are listed.
ABOUT = {
    "ok": "none of what follows (without long runs, or where their steps are not all alike, as those of annealed "
    "samplers, there are no chains to judge)",
    "unmixed": "the traces of the long runs do not show that their chains have met (R̂ above {r_hat}, or fewer than "
    "{ess} effective draws): they are stuck in different places, or too slow for their length, so that their samples "
    "may not weigh the modes as the model does; this tells of the sampler as much as of the model, and a run may be "
    "unmixed and still the best",
    "short-run-only": "long runs collapse: their main metric is more than {collapse} times that of short runs",
    "miscalibrated": "no grid holds the energy's mass, or energy and samples do not belong together (the bracket of "
    "log Z is crossed)",
    "diverged": "training met a value that is not finite or beyond its limits, found the trivial solution E = c, or "
    "its chains left the model, and it stopped",
    "skipped": "the method does not apply",
    "failed": "the cell has no valid numbers",
    "stale": f"the cell's numbers were {OTHERWISE}, and are not shown",
}


def verdict(rows: pd.DataFrame) -> str:
    """The runs of one method by verdict, `3/3 ok` or `2/3 unmixed, 1/3 diverged`; a cell without runs by one word.

    Runs that were restarted after a divergence say so: `3/3 ok, 2 restarts`.
    """
    if lost := lost_cell(rows):
        return lost
    runs = rows.drop_duplicates("label")
    words = words_of(runs)
    counts = words.value_counts()
    found = [f"{counts[word]}/{len(words)} {word}" for word in ABOUT if word in counts.index]
    return ", ".join(found + _restarts(runs))


def lost_cell(rows: pd.DataFrame) -> str:
    """`failed` or `stale` if that is all there is; else nothing."""
    return str(rows["status"].iloc[0]) if len(rows) and rows["status"].isin(LOST).all() else ""


def meanings(frame: pd.DataFrame, params: dict[str, Any]) -> str:
    """What the words that occur mean, with the limits of this suite (a dataset may have its own, by overrides)."""
    limits = Health().model_dump() | (params.get("metrics") or {}).get("health", {})
    shown = {name: f"{value:g}" for name, value in limits.items()}
    words = set(words_of(_known(frame)))
    return "\n".join(f"- *{word}*: {text.format(**shown)}." for word, text in ABOUT.items() if word in words)


def tally(frame: pd.DataFrame) -> dict[str, int]:
    """How many trained runs have which verdict, best first."""
    words = words_of(_trained(frame))
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


def _restarts(runs: pd.DataFrame) -> list[str]:
    """How often runs went back to a healthy state, if any did."""
    count = int(runs["restarts"].fillna(0).sum())
    return [f"{count} restart{'s' * (count > 1)}"] if count else []


def _known(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame["method"].map(is_baseline).astype(bool)]


def _trained(frame: pd.DataFrame) -> pd.DataFrame:
    known = _known(frame)
    return known[~known["status"].isin(LOST)].drop_duplicates(["dataset", "method", "label"])


def words_of(runs: pd.DataFrame) -> pd.Series:
    """The verdict of each run, or its status where there is none."""
    return runs["verdict"].where(runs["verdict"] != "", runs["status"])


def _median(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows.loc[rows["metric"] == metric, "value"].dropna()
    return float(values.median()) if len(values) else None
