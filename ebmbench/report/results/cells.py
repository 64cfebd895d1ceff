"""Read one cell from disk, and check that its numbers belong to the present parameters, files and models.

DVC removes the outputs of a stage before it runs, but not those of later stages: a cell that failed may still have old
numbers. So numbers are taken only if everything upstream of them is there and fits. A cell that lacks data, features,
`train/`, `sample/` or metrics is *failed*; it is *not run* if it has none of its own outputs and no stage left a note
of a failure, as cells that `--only` left out. A cell is *stale* if its stages had other parameters or files
(`staleness.py`), or if the digests in `metrics.json` are not those of `train/`. All are shown with a reason, without
numbers. The same holds for baselines.
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
from ebmbench.workspace.layout import BASELINES, cell_folder, record_file

NOT_RUN = "not run"
LOST = ("failed", "stale", NOT_RUN)  # cells without valid numbers
OTHERWISE = "made with other parameters, files or code than are here now"


@dataclass(frozen=True)
class Cell:
    """A cell's state (`ok` or one of `LOST`) with the reason, its rows, and the status of each run in `train/`."""

    state: str
    reason: str = ""
    rows: list[Row] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_cell(present: Present, dataset: str, method: str) -> Cell:
    """Read and check the cell of one method."""
    folder = cell_folder(present.root, present.suite, dataset, method)
    runs = read_statuses(folder / "train")
    stages = stages_of(dataset, method)
    there = {
        "not trained: no runs in `train/`": bool(runs),
        "trained but not sampled: no `sample/`": (folder / "sample").is_dir(),
        "trained but not evaluated: no `metrics.json` or `rows.csv`": _evaluated(folder),
    }
    if lost := _lost(present, stages, _data(present, dataset), there):
        return lost
    different = ", ".join(_mismatches(read_json_or_empty(folder / "metrics.json"), runs))
    older = f"the numbers are of older runs than the models in `train/` ({different})" if different else ""
    return _stale(present, stages, older) or Cell("ok", rows=read_rows(folder / "rows.csv"), runs=runs)


def read_baselines(present: Present, dataset: str) -> Cell:
    """Read and check the baselines of a dataset; they are not trained, so there are no digests to compare."""
    folder = cell_folder(present.root, present.suite, dataset, BASELINES)
    stages = stages_of(dataset, BASELINES)
    there = {"no `rows.csv`": _evaluated(folder)}
    lost = _lost(present, stages, _data(present, dataset), there)
    return lost or _stale(present, stages) or Cell("ok", rows=read_rows(folder / "rows.csv"))


def stages_of(dataset: str, method: str) -> list[str]:
    """The stages behind the numbers of a cell, first to last."""
    return [f"prepare@{dataset}", f"features@{dataset}", *own_stages_of(dataset, method)]


def own_stages_of(dataset: str, method: str) -> list[str]:
    """The stages whose outputs are the cell itself."""
    if method == BASELINES:
        return [f"baselines@{dataset}"]
    return [f"{stage}@{dataset}-{method}" for stage in ("train", "sample", "evaluate")]


def read_versions(present: Present, frame: pd.DataFrame) -> list[list[Versions]]:
    """The versions of libraries that the own stages of each cell with numbers recorded.

    Their records are in `runs/`, which the report depends on. Those of the data are not: DVC would not write the report
    again after one of them has changed. So they may only decide whether a cell is shown (see the top), never what.
    """
    whole = frame[~frame["status"].isin(LOST)]
    folders = [BASELINES if is_baseline(name) else name for name in whole["method"]]
    cells = dict.fromkeys(zip(whole["dataset"], folders, strict=True))
    return [recorded_versions(present, own_stages_of(*cell)) for cell in cells]


def read_statuses(train: Path) -> dict[str, dict[str, Any]]:
    """The status of each run of a cell, by label, in the order of the labels."""
    files = sorted(train.rglob("status.json"))
    return {file.parent.relative_to(train).as_posix(): read_json_or_empty(file) for file in files}


def read_json_or_empty(file: Path) -> dict[str, Any]:
    """A JSON object, or an empty one if the file is missing or damaged: its values are then shown as missing."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _data(present: Present, dataset: str) -> dict[str, bool]:
    """Whether the stages before a cell's own left their records, which come and go with their outputs."""
    data, features = (record_file(present.root, present.suite, f"{kind}@{dataset}") for kind in ("prepare", "features"))
    return {
        f"no data: no `prepared/{dataset}`": data.is_file(),
        f"no features: no `features/{dataset}`": features.is_file(),
    }


def _lost(present: Present, stages: Sequence[str], data: dict[str, bool], own: dict[str, bool]) -> Cell | None:
    """A cell that was not run, or a failed one; the reason is the note of the stage that failed, or what is missing.

    A stage may also have failed after it wrote its outputs; then it left a note and no record.
    """
    made = any(own.values()) or any(present.record(stage) for stage in stages[len(data) :])
    if not made and not present.failure(*stages):
        return Cell(NOT_RUN, "`ebmbench run` makes it")
    for stage, (otherwise, whole) in zip(stages, (data | own).items(), strict=True):
        note = present.failure(stage)
        if not whole or (note and present.record(stage) is None):
            return Cell("failed", note or otherwise)
    return None


def _stale(present: Present, stages: Sequence[str], older: str = "") -> Cell | None:
    """A stale cell if it is one; a stage that failed since then may explain why it was not made anew."""
    reasons = [reason for reason in (older, explain_staleness(present, stages)) if reason]
    failed = [stage for stage in stages if present.failed_since(stage)]
    return Cell("stale", "; ".join(filter(None, [*reasons, present.failure(*failed)]))) if reasons else None


def _evaluated(folder: Path) -> bool:
    return (folder / "metrics.json").is_file() and (folder / "rows.csv").is_file()


def _mismatches(metrics: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[str]:
    """Labels whose metrics are of another run than the one in `train/`, or that only one of the two has."""
    found = {label: values.get("digest") for label, values in metrics.items()}
    # Only a run that is ok must have been evaluated; whatever was evaluated must be what was trained.
    needed = {label for label, run in runs.items() if run.get("status") == "ok"} | set(found)
    return sorted(label for label in needed if found.get(label) != runs.get(label, {}).get("digest", ""))
