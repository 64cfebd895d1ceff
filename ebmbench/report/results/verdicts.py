"""The health of runs as the evaluation judged it, counted over the runs of a method or a suite.

Results from before there were verdicts have the status of a run in their place.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import LOST, NOT_RUN, OTHERWISE
from ebmbench.workspace.layout import BASELINES

# From the best to the worst; `docs/protocol.md` says what they mean.
HEALTH = ("ok", "not judged", "sampler limit", "unmixed", "short-run-only", "miscalibrated")
VERDICTS = (*HEALTH, "diverged", "skipped", "failed", "stale", NOT_RUN)


def describe_verdicts(rows: pd.DataFrame) -> str:
    """The runs of one method by verdict, `2/3 unmixed, 1/3 diverged, 1 restart`; one word if all have the same."""
    if lost := lost_cell(rows):
        return lost
    runs = rows.drop_duplicates("label")
    restarts = int(runs["restarts"].fillna(0).sum())
    found = _shares(words_of(runs))
    return f"{found}, {restarts} restart{'s' * (restarts > 1)}" if restarts else found


def describe_side(rows: pd.DataFrame, side: str) -> str:
    """The same of one side, `density` or `sampler`, over the runs that came to their end."""
    runs = rows.drop_duplicates("label")
    return _shares(runs.loc[runs["status"] == "ok", f"{side}_verdict"])


def _shares(words: pd.Series) -> str:
    """`2/3 ok, 1/3 unmixed`, or `ok` if all are; runs without a word count, and are not named."""
    total = len(words)
    return ", ".join(word if count == total else f"{count}/{total} {word}" for word, count in _count(words).items())


def lost_cell(rows: pd.DataFrame) -> str:
    """`failed`, `stale` or `not run` if the whole cell is; else nothing."""
    return str(rows["status"].iloc[0]) if len(rows) and rows["status"].isin(LOST).all() else ""


def row_names(parts: Iterable[Mapping[str, pd.DataFrame]]) -> list[str]:
    """The rows of a table with a column for each part (the `variants` of a dataset): methods with their settings.

    A cell without numbers knows no settings: it adds no row where the method is swept on another dataset.
    """
    parts = list(parts)
    found = dict.fromkeys(name for part in parts for name in part if name != BASELINES)
    swept = {name.split(" ")[0] for name in found if " " in name}
    lost = {name for name in swept if all(lost_cell(part[name]) for part in parts if name in part)}
    return [name for name in found if name not in lost]


def rows_of(part: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame | None:
    """The rows of a method with its settings on a dataset; if its whole cell has no numbers, the row that says why.

    Runs with other settings are never taken in their place.
    """
    cell = part.get(BASELINES if is_baseline(name) else name.split(" ")[0])
    return part.get(name, cell if cell is not None and lost_cell(cell) else None)


def words_of(runs: pd.DataFrame) -> pd.Series:
    """The verdict of each run, or its status where there is none."""
    return runs["verdict"].where(runs["verdict"] != "", runs["status"])


def rows_of_methods(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that are not of baselines."""
    return frame[~frame["method"].map(is_baseline).astype(bool)]


def count_verdicts(frame: pd.DataFrame) -> dict[str, int]:
    """How many trained runs of a suite have which verdict, best first."""
    rows = rows_of_methods(frame)
    return _count(words_of(rows[~rows["status"].isin(LOST)].drop_duplicates(["dataset", "method", "label"])))


def count_side(frame: pd.DataFrame, side: str) -> dict[str, int]:
    """The same of one side, `density` or `sampler`; none in reports that judge both as one."""
    runs = rows_of_methods(frame).drop_duplicates(["dataset", "method", "label"])
    return _count(runs[f"{side}_verdict"])


def _count(words: pd.Series) -> dict[str, int]:
    return {word: int((words == word).sum()) for word in VERDICTS if (words == word).any()}


def count_statuses(frame: pd.DataFrame) -> dict[str, int]:
    """How many trained runs of a suite ended how, and how many cells have no valid numbers."""
    lost = frame["status"].isin(LOST)
    runs = frame[~lost & frame["steps"].notna()].drop_duplicates(["dataset", "method", "label"])
    counts = runs["status"].value_counts()
    found = {status: int(counts.get(status, 0)) for status in ("ok", "diverged", "skipped")}
    return found | {status: int((frame["status"] == status).sum()) for status in LOST}


def describe_stale_cells(frame: pd.DataFrame) -> str:
    """How many cells are stale and what to do about it; empty if none is."""
    stale = count_statuses(frame)["stale"]
    if not stale:
        return ""
    count, it, them = ("1 cell is", "its", "it") if stale == 1 else (f"{stale} cells are", "their", "them")
    return f"{count} stale: {it} numbers were {OTHERWISE}, so they are not shown; `ebmbench run` makes {them} anew."


def describe_cells_not_run(frame: pd.DataFrame) -> str:
    """How many cells were not run, by method, and what to do about it; empty if all were."""
    missing = frame[frame["status"] == NOT_RUN]
    if missing.empty:
        return ""
    names = {
        "baselines" if is_baseline(str(name)) else f"`{name}`": part
        for name, part in missing.groupby("method", sort=False)
    }
    each = "; ".join(f"{name} on {', '.join(f'`{one}`' for one in part['dataset'])}" for name, part in names.items())
    return f"Not run yet: {each}. `ebmbench run` makes them."
