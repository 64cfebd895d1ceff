"""Collect all cells of a suite in one frame: the rows of every run, with its steps and costs.

The order never depends on the file system: datasets and methods as `params.yaml` lists them (baselines first), then
swept settings by number, then seeds, then the metrics as the evaluation wrote them.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.report.results.baselines import baselines
from ebmbench.report.results.cells import Cell, read_baselines, read_cell, read_json_or_empty
from ebmbench.report.results.staleness import Present
from ebmbench.report.results.table import Row, to_frame
from ebmbench.workspace.layout import BASELINES, cell_folder

STAGES = ("train", "sample", "evaluate")


def collect(root: Path, params: dict[str, Any]) -> pd.DataFrame:
    """The frame of `results.csv` for the suite that `params` describes."""
    present, benchmark = Present(root, params), params["benchmark"]
    rows: list[Row] = []
    for dataset in benchmark["datasets"]:
        rows += _baseline_rows(present, dataset)
        for method in benchmark["methods"]:
            rows += _method_rows(present, dataset, method)
    return to_frame(rows)


def variant(method: str, settings: str) -> str:
    """The name of a row in tables and figures: the method, with its swept settings."""
    return f"{method} {settings}".strip()


def _method_rows(present: Present, dataset: str, method: str) -> list[Row]:
    cell = read_cell(present, dataset, method)
    place = {"suite": present.suite, "dataset": dataset, "method": method}
    if cell.state != "ok":
        return [place | _lost(cell)]
    folder = cell_folder(present.root, present.suite, dataset, method)
    rows = cell.rows + [place | run for run in _unevaluated_runs(cell)]
    ends = {
        label: {"steps": _text(run.get("step")), "restarts": _text(run.get("restarts"))}
        for label, run in cell.runs.items()
    }
    costs = {stage: read_json_or_empty(folder / "cost" / f"{stage}.json") for stage in STAGES}
    return _ordered([row | ends[row["label"]] | _cost(costs, row["label"]) for row in rows])


def _baseline_rows(present: Present, dataset: str) -> list[Row]:
    cell = read_baselines(present, dataset)
    if cell.state != "ok":
        place = {"suite": present.suite, "dataset": dataset, "method": BASELINES}
        return [place | _lost(cell)]
    costs = {"evaluate": read_json_or_empty(cell_folder(present.root, present.suite, dataset, BASELINES) / "cost.json")}
    return _ordered([row | _cost(costs, row["label"]) for row in cell.rows])


def _unevaluated_runs(cell: Cell) -> list[Row]:
    """A row for each run that was never evaluated (skipped), so that it is counted and explained."""
    evaluated = {row["label"] for row in cell.rows}
    named = {"seed": "seed", "digest": "digest", "status": "status", "reason": "reason"}
    named |= {"verdict": "status", "verdict_reason": "reason"}
    return [
        {"label": label, "settings": _settings(run)} | {column: _text(run.get(key)) for column, key in named.items()}
        for label, run in cell.runs.items()
        if label not in evaluated
    ]


def _lost(cell: Cell) -> Row:
    """The one row of a cell without valid numbers."""
    return {"status": cell.state, "reason": cell.reason, "verdict": cell.state, "verdict_reason": cell.reason}


def _settings(run: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in (run.get("settings") or {}).items())


def _cost(costs: dict[str, dict[str, Any]], label: str) -> Row:
    """The seconds of each stage of a run, and the largest of their peaks of memory."""
    found = {stage: cost[label] for stage, cost in costs.items() if label in cost}
    seconds = {f"seconds_{stage}": _text(one.get("seconds")) for stage, one in found.items()}
    peaks = [float(one["peak_memory_mb"]) for one in found.values() if one.get("peak_memory_mb") is not None]
    return seconds | {"peak_memory_mb": _text(max(peaks, default=None))}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _ordered(rows: list[Row]) -> list[Row]:
    """Baselines, then settings by number (5 before 10), then seeds; metrics stay as they came."""
    first = {name: place for place, name in enumerate(baselines())}

    def key(row: Row) -> tuple[Any, ...]:
        return (first.get(row["method"], len(first)), natural(row["settings"]), natural(row["seed"]))

    return sorted(rows, key=key)


def natural(text: str) -> list[tuple[int, float, str]]:
    """A sort key in which the numbers inside a text count as numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)", text)
    return [(0, float(part), "") if place % 2 else (1, 0.0, part) for place, part in enumerate(parts)]
