"""One cell on disk: is it whole, and do its numbers belong to the parameters, files and models that are here now?

A cell that fails keeps the files of older, downstream stages, and DVC removes the outputs of a stage before it
runs. Numbers are therefore taken only if everything upstream of them is there and fits. A cell that lacks data,
features, `train/`, `sample/` or metrics is *failed*. One whose stages had other parameters or files than those of now
(`staleness.py`), or whose digests in `metrics.json` are not those of `train/`, is *stale*. Both are shown with a reason
instead of with old numbers, and baselines are held to the same.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.staleness import Present, Versions, explain_staleness, recorded_versions
from ebmbench.report.results.table import Row, read_rows
from ebmbench.workspace.layout import BASELINES, cell_folder, features_folder, prepared_folder

LOST = ("failed", "stale")  # cells without valid numbers
OTHERWISE = "made with other parameters, files or code than are here now"


@dataclass(frozen=True)
class Cell:
    """A cell's verdict (`ok`, `failed`, `stale`), the reason, its rows and what `train/` says of each run."""

    state: str
    reason: str = ""
    rows: list[Row] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_cell(present: Present, dataset: str, method: str) -> Cell:
    """The cell of one method, checked."""
    folder = cell_folder(present.root, present.suite, dataset, method)
    runs = read_statuses(folder / "train")
    stages = stages_of(dataset, method)
    there = {
        "not trained: no runs in `train/`": bool(runs),
        "trained but not sampled: no `sample/`": (folder / "sample").is_dir(),
        "trained but not evaluated: no `metrics.json` or `rows.csv`": _evaluated(folder),
    }
    if lost := _lost(present, stages, _data(present.root, dataset) | there):
        return lost
    different = ", ".join(_mismatches(read_json_or_empty(folder / "metrics.json"), runs))
    older = f"the numbers are of older runs than the models in `train/` ({different})" if different else ""
    return _stale(present, stages, older) or Cell("ok", rows=read_rows(folder / "rows.csv"), runs=runs)


def read_baselines(present: Present, dataset: str) -> Cell:
    """The baselines of a dataset; they are not trained, so there are no digests to compare."""
    folder = cell_folder(present.root, present.suite, dataset, BASELINES)
    stages = stages_of(dataset, BASELINES)
    there = {"not run: no `rows.csv`": _evaluated(folder)}
    lost = _lost(present, stages, _data(present.root, dataset) | there)
    return lost or _stale(present, stages) or Cell("ok", rows=read_rows(folder / "rows.csv"))


def stages_of(dataset: str, method: str) -> list[str]:
    """The stages behind the numbers of a cell, first to last."""
    data = [f"prepare@{dataset}", f"features@{dataset}"]
    if method == BASELINES:
        return [*data, f"baselines@{dataset}"]
    return [*data, *(f"{stage}@{dataset}-{method}" for stage in ("train", "sample", "evaluate"))]


def read_versions(present: Present, frame: pd.DataFrame) -> list[list[Versions]]:
    """The versions that the stages of each cell with numbers recorded."""
    whole = frame[~frame["status"].isin(LOST)]
    folders = [BASELINES if is_baseline(name) else name for name in whole["method"]]
    cells = dict.fromkeys(zip(whole["dataset"], folders, strict=True))
    return [recorded_versions(present, stages_of(*cell)) for cell in cells]


def read_statuses(train: Path) -> dict[str, dict[str, Any]]:
    """What each run of a cell says of itself, by label, in the order of the labels."""
    files = sorted(train.rglob("status.json"))
    return {file.parent.relative_to(train).as_posix(): read_json_or_empty(file) for file in files}


def read_json_or_empty(file: Path) -> dict[str, Any]:
    """A JSON object, or an empty one if there is none that can be read: what it tells is then shown as missing."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _data(root: Path, dataset: str) -> dict[str, bool]:
    """Whether the outputs of the stages before a cell's own are there, by what is said if not."""
    return {
        f"no data: no `prepared/{dataset}`": (prepared_folder(root, dataset) / "facts.json").is_file(),
        f"no features: no `features/{dataset}`": features_folder(root, dataset).is_dir(),
    }


def _lost(present: Present, stages: Sequence[str], there: dict[str, bool]) -> Cell | None:
    """The failed cell, if a stage has: with its note, or if it left none, with what is missing.

    A stage may also have failed after it wrote its outputs; then it noted that and left no record. All that follows
    was never tried.
    """
    for stage, (otherwise, whole) in zip(stages, there.items(), strict=True):
        note = present.failure(stage)
        if not whole or (note and present.record(stage) is None):
            return Cell("failed", note or otherwise)
    return None


def _stale(present: Present, stages: Sequence[str], older: str = "") -> Cell | None:
    """The stale cell, if it is one; a stage that failed since may tell why nobody made it anew."""
    reasons = [reason for reason in (older, explain_staleness(present, stages)) if reason]
    failed = [stage for stage in stages if present.failed_since(stage)]
    return Cell("stale", "; ".join(filter(None, [*reasons, present.failure(*failed)]))) if reasons else None


def _evaluated(folder: Path) -> bool:
    return (folder / "metrics.json").is_file() and (folder / "rows.csv").is_file()


def _mismatches(metrics: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[str]:
    """Labels whose metrics are of another run than `train/` holds, or that only one of the two has."""
    found = {label: values.get("digest") for label, values in metrics.items()}
    # Only a run that is ok must have been evaluated; whatever was evaluated must be what was trained.
    needed = {label for label, run in runs.items() if run.get("status") == "ok"} | set(found)
    return sorted(label for label in needed if found.get(label) != runs.get(label, {}).get("digest", ""))
