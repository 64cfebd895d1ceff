"""Judging a model by the chosen metrics, and the files in which the numbers are kept.

One judgement is a folder: `judgement.json`, `picture.npz`, `cost.json`. A cell's judgements are collected into
`metrics.json` (numbers by run, for `dvc metrics`), `rows.csv` (the same, tidy, with errors and protocol) and
`density.npz` (for the figures).
"""

import csv
import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ebmbench.core.facts import Facts
from ebmbench.core.files import read_json, replacing, write_json
from ebmbench.core.registry import entries, load
from ebmbench.data.densities.density import Density
from ebmbench.metrics.evaluation import Evaluation, Unavailable, Value
from ebmbench.stages.picture import frame, load_arrays, picture, save_arrays
from ebmbench.training.run import peak_memory

COLUMNS = ["suite", "dataset", "method", "settings", "seed", "label", "digest", "status", "reason", "metric", "value"]
COLUMNS += ["error", "n", "direction", "protocol"]

Values = dict[str, Value]


def judge(evaluation: Evaluation, metrics: Iterable[str]) -> Values:
    """Every metric's value; one that cannot be had says why."""
    return {name: _compute(evaluation, name) for name in metrics}


def _compute(evaluation: Evaluation, metric: str) -> Value:
    try:
        value: Value = load("metrics", metric).compute(evaluation)
    except Unavailable as reason:
        return Value(reason=str(reason))
    if value.value is not None and not math.isfinite(value.value):
        return Value(reason=f"{metric} is {value.value}", protocol=value.protocol)
    return value


def leave(result: Path, run: dict[str, Any], values: Values, evaluation: Evaluation | None, clock: float) -> None:
    """Write one judgement; `run` holds label, digest, status and the like; `clock` is when it began."""
    rows = [{**run, **_cells(name, value, run)} for name, value in values.items()]
    write_json(result / "judgement.json", rows)
    save_arrays(result / "picture.npz", picture(evaluation, run["label"]) if evaluation is not None else {})
    seconds = round(time.perf_counter() - clock, 3)
    write_json(result / "cost.json", {"seconds": seconds, "peak_memory_mb": peak_memory()})


def _cells(metric: str, value: Value, run: dict[str, Any]) -> dict[str, Any]:
    cells = {"metric": metric, **asdict(value), "reason": value.reason or run["reason"] or ""}
    return cells | {"direction": direction(metric)}


def direction(metric: str) -> str:
    """Which way is better: as the metric's file says, and lower for counts of evaluations."""
    known = entries("metrics").get(metric)
    return known.direction if known else "lower"


def collect(folder: Path, shared: dict[str, str], done: dict[str, Path], facts: Facts, density: Density | None) -> None:
    """Write a cell's files from the judgements of its runs by label."""
    judged = {label: read_json(run / "judgement.json") for label, run in done.items()}
    write_json(folder / "metrics.json", {label: _flat(rows) for label, rows in judged.items()})
    write_rows(folder / "rows.csv", [{**shared, **row} for rows in judged.values() for row in rows])
    arrays = frame(facts, density)
    for run in done.values():
        arrays |= load_arrays(run / "picture.npz")
    save_arrays(folder / "density.npz", arrays)


def _flat(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One run for `dvc metrics`: labels and numbers, no lists."""
    head = {key: rows[0][key] for key in ("digest", "status")} if rows else {}
    return head | {row["metric"]: row["value"] for row in rows}


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """The CSV that the report reads; floats are written so that they read back the same."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
