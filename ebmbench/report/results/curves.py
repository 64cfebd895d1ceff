"""`curves.csv`: how the main metric of each run changed while it trained, by passes and by seconds.

The evaluation writes passes and values (`runs/…/curve.csv`), training writes the seconds of each snapshot
(`cost/train.json`), which depend on the machine.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import read_json_or_empty
from ebmbench.report.results.table import read_rows
from ebmbench.workspace.layout import cell_folder

COLUMNS = {
    "suite": "the suite the run belongs to",
    "dataset": "name of the dataset",
    "method": "name of the method",
    "settings": "swept settings, `interval=5`; empty when nothing is swept",
    "seed": "seed of the run",
    "label": "name of the run inside its cell",
    "metric": "name of the metric, the first of the suite on this dataset",
    "samples": "kind of samples behind the value; empty if it needs none",
    "passes": "network passes that training had spent",
    "seconds": "wall time that it had taken",
    "value": "the metric of the averaged weights at that point; empty when not available",
    "reason": "why there is no value",
}


def collect_curves(root: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of all good runs of a frame of results."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    rows: list[dict[str, Any]] = []
    for cell, runs in good.groupby(["suite", "dataset", "method"], sort=False):
        folder = cell_folder(root, *map(str, cell))
        known = runs.drop_duplicates("label").set_index("label")
        rows += _cell_rows(folder, known)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write_curves(curves: pd.DataFrame, file: Path) -> None:
    """Write all digits."""
    curves.to_csv(file, index=False, lineterminator="\n", encoding="utf-8")


def read_curves(file: Path) -> pd.DataFrame:
    """What `write_curves` wrote, with types; no row if there is no file."""
    rows = read_rows(file) if file.is_file() else []
    frame = pd.DataFrame([{name: row.get(name, "") for name in COLUMNS} for row in rows], columns=list(COLUMNS))
    numbers = {name: pd.to_numeric(frame[name]) for name in ("seed", "passes", "seconds", "value")}
    return frame.assign(**numbers)


def _cell_rows(folder: Path, runs: pd.DataFrame) -> list[dict[str, Any]]:
    if not (folder / "curve.csv").is_file():
        return []
    costs, points = read_json_or_empty(folder / "cost" / "train.json"), read_rows(folder / "curve.csv")
    rows = []
    for label, run in runs.iterrows():
        shared = {key: run[key] for key in ("suite", "dataset", "method", "settings", "seed")} | {"label": label}
        own = [point for point in points if point["label"] == label]
        rows += [shared | _point(point, costs.get(str(label), {})) for point in own]
    return rows


def _point(point: dict[str, str], cost: dict[str, Any]) -> dict[str, Any]:
    """One row; the last point, which is no snapshot, has the seconds of the whole run."""
    passes = int(point["passes"])
    seconds = cost.get("snapshots", {}).get(point["passes"], cost.get("seconds"))
    value = float(point["value"]) if point["value"] else None
    shared = {key: point[key] for key in ("metric", "samples", "reason")}
    return shared | {"passes": passes, "seconds": seconds, "value": value}
