"""One cell on disk: is it whole, and do its numbers belong to the models that lie beside them?

A cell that fails keeps the files of older, downstream stages, and DVC removes the outputs of a stage before it
runs. Numbers are therefore taken only if everything upstream of them is there and the digests in `metrics.json`
are those of `train/`: a cell that lacks data, `train/`, `sample/` or metrics is *failed*, one whose digests
differ is *stale*, and both are shown with a reason instead of with old numbers.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ebmbench.report.references import BASELINES
from ebmbench.report.results import Row, read_rows

LOST = ("failed", "stale")  # cells without valid numbers


@dataclass(frozen=True)
class Cell:
    """A cell's verdict (`ok`, `failed`, `stale`), the reason, its rows and what `train/` says of each run."""

    state: str
    reason: str = ""
    rows: list[Row] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_cell(root: Path, suite: str, dataset: str, method: str) -> Cell:
    """The cell of one method, checked."""
    folder = root / "runs" / suite / dataset / method
    runs = statuses(folder / "train")
    blocked = _blocked(root, dataset)
    if not runs:
        own = _failure(root, (f"train@{dataset}-{method}",))
        return Cell("failed", blocked or own or "not trained: no runs in `train/`")
    if not _prepared(root, dataset):
        return Cell("failed", blocked or "the data are missing, so the numbers may be old")
    later = _failure(root, (f"sample@{dataset}-{method}", f"evaluate@{dataset}-{method}"))
    if not (folder / "sample").is_dir():
        return Cell("failed", later or "trained but not sampled: no `sample/`")
    if not _evaluated(folder):
        return Cell("failed", later or "trained but not evaluated: no `metrics.json` or `rows.csv`")
    different = _mismatches(read_json(folder / "metrics.json"), runs)
    if different:
        names = ", ".join(different)
        reason = f"the numbers are of older runs than the models in `train/` ({names})"
        return Cell("stale", f"{reason}; {later}" if later else reason)
    return Cell("ok", rows=read_rows(folder / "rows.csv"), runs=runs)


def read_baselines(root: Path, suite: str, dataset: str) -> Cell:
    """The baselines of a dataset; they are not trained, so there is nothing to compare digests with."""
    folder = root / "runs" / suite / dataset / BASELINES
    if not _evaluated(folder):
        own = _failure(root, (f"baselines@{dataset}",))
        return Cell("failed", _blocked(root, dataset) or own or "not run: no `rows.csv`")
    return Cell("ok", rows=read_rows(folder / "rows.csv"))


def statuses(train: Path) -> dict[str, dict[str, Any]]:
    """What each run of a cell says of itself, by label, in the order of the labels."""
    files = sorted(train.rglob("status.json"))
    return {file.parent.relative_to(train).as_posix(): read_json(file) for file in files}


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object, or an empty one if there is no such file."""
    if not file.is_file():
        return {}
    content = json.loads(file.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _prepared(root: Path, dataset: str) -> bool:
    return (root / "prepared" / dataset / "facts.json").is_file()


def _blocked(root: Path, dataset: str) -> str:
    """Why there are no data, if their own stage noted it: then all that follows was never tried."""
    return "" if _prepared(root, dataset) else _failure(root, (f"prepare@{dataset}",))


def _evaluated(folder: Path) -> bool:
    return (folder / "metrics.json").is_file() and (folder / "rows.csv").is_file()


def _mismatches(metrics: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[str]:
    """Labels whose metrics are of another run than `train/` holds, or that only one of the two has."""
    found = {label: values.get("digest") for label, values in metrics.items()}
    # Only a run that is ok must have been evaluated; whatever was evaluated must be what was trained.
    needed = {label for label, run in runs.items() if run.get("status") == "ok"} | set(found)
    return sorted(label for label in needed if found.get(label) != runs.get(label, {}).get("digest", ""))


def _failure(root: Path, stages: tuple[str, ...]) -> str:
    """What the flow noted about the first of these stages that failed; empty if nothing."""
    for stage in stages:
        name = stage.replace("@", "_").replace("/", "_")
        note = read_json(root / "work" / "failures" / f"{name}.json")
        if note.get("reason"):
            return f"`{stage}`: {' '.join(str(note['reason']).split())}"
    return ""
