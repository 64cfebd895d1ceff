"""The health of runs as the evaluation judged it, counted over the runs of a method or a suite.

Results from before there were verdicts have the status of a run in their place.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import LOST, NOT_RUN, OTHERWISE
from ebmbench.workspace.layout import BASELINES

# From the best to the worst, with the limits of the suite to be filled in.
MEANINGS = {
    "ok": "density and sampler were both judged, and nothing of what follows was found",
    "not judged": "nothing bad was found, but one of the two could not be judged: a density without an energy or "
    "without a bracket of log Z; a sampler without long runs, or whose steps are not all alike, as those of annealed "
    "samplers",
    "sampler limit": "the chains of the long runs have not met (R̂ above {r_hat}, or fewer than {ess} effective draws), "
    "but neither have those of the same sampler with the same steps on the control, a known density (that of the data, "
    "or a mixture around training events): the model is not to blame",
    "unmixed": "the chains of the long runs have not met (R̂ above {r_hat}, or fewer than {ess} effective draws), while "
    "those of the same sampler on the control have: they are stuck in different places of this model, so that their "
    "samples may not weigh the modes as it does; a run may be unmixed and still the best",
    "short-run-only": "long runs collapse: their main metric is more than {collapse} times that of short runs",
    "miscalibrated": "no grid holds the energy's mass, or the flow of a noise ladder has no density of mass 1",
    "diverged": "training met a value that is not finite or beyond its limits, found the trivial solution E = c, or "
    "its chains left the model, and it stopped",
    "skipped": "the method does not apply",
    "failed": "the cell has no valid numbers",
    "stale": f"the cell's numbers were {OTHERWISE}, and are not shown",
    NOT_RUN: "nobody has asked for the cell yet",
}


def describe_verdicts(rows: pd.DataFrame) -> str:
    """The runs of one method by verdict, `2/3 unmixed, 1/3 diverged, 1 restart`; one word for a cell without runs."""
    if lost := lost_cell(rows):
        return lost
    runs = rows.drop_duplicates("label")
    words = words_of(runs)
    counts = words.value_counts()
    found = [f"{counts[word]}/{len(words)} {word}" for word in MEANINGS if word in counts.index]
    restarts = int(runs["restarts"].fillna(0).sum())
    return ", ".join([*found, f"{restarts} restart{'s' * (restarts > 1)}"] if restarts else found)


def describe_side(rows: pd.DataFrame, side: str) -> str:
    """The same of one side, `density` or `sampler`, over the runs that came to their end."""
    runs = rows.drop_duplicates("label")
    words = runs.loc[runs["status"] == "ok", f"{side}_verdict"]
    counts = words[words != ""].value_counts()
    return ", ".join(f"{counts[word]}/{len(words)} {word}" for word in MEANINGS if word in counts.index)


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
    return {word: int((words == word).sum()) for word in MEANINGS if (words == word).any()}


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
