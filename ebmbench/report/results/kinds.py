"""Kinds of samples, which are never mixed: a value holds only for the chains that it was computed from.

A training buffer, a short run from noise and a long run are three different distributions (Nijkamp et al., Learning
Non-Convergent Non-Persistent Short-Run MCMC Toward Energy-Based Model, NeurIPS 2019). Every table, gallery and
comparison is therefore of one kind; baselines, whose samples are exact, stand in each.
"""

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants

EXACT = "exact"
MEANINGS = {
    "buffer": "the training chains as training left them",
    "short": "a short run of the sampler from noise",
    "long": "a run of many steps",
    "data": "chains that start at data",
}
NAMES = {
    "buffer": "buffer: the training chains",
    "short": "short-run from noise",
    "long": "long-run",
    "data": "from data",
}
SAMPLES = {
    "buffer": "buffer samples",
    "short": "short-run samples",
    "long": "long-run samples",
    "data": "samples of chains from data",
}
KINDS = tuple(NAMES)


def kinds(frame: pd.DataFrame, dataset: str) -> list[str]:
    """The kinds of samples that good runs on a dataset have, in the order of the tables."""
    rows = frame[(frame["dataset"] == dataset) & (frame["status"] == "ok")]
    found = set(rows["samples"])
    return [kind for kind in KINDS if kind in found]


def table_kinds(frame: pd.DataFrame, dataset: str) -> list[str]:
    """The kinds that have a table: where no run was good one table says so, of the kind that every method has."""
    return kinds(frame, dataset) or ["short"]


def mask_other_kinds(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The frame as if there were no other kind: rows of others lose their metric, but their runs still count."""
    return frame.assign(metric=frame["metric"].where(frame["samples"].isin(["", EXACT, kind]), ""))


def select_kind(frame: pd.DataFrame, dataset: str, kind: str) -> pd.DataFrame:
    """The rows of one dataset and kind, without the methods that have only other kinds."""
    parts = variants(mask_other_kinds(frame[frame["dataset"] == dataset], kind), dataset)
    return pd.concat([rows for name, rows in parts.items() if is_baseline(name) or _may_have(rows, kind)])


def _may_have(rows: pd.DataFrame, kind: str) -> bool:
    """Whether a method has this kind of samples, or is not known to have any."""
    good = rows[rows["status"] == "ok"]
    found = set(good["samples"])
    return good.empty or kind in found or not found & set(KINDS)
