"""`results.csv`: one row for each run, metric and kind of samples, the only place the report takes its numbers from.

The table is tidy: filter by `metric`, group by `dataset`, `method` and `settings`, take statistics over
`seed`. A cell that failed, and a run without any number, has one row with an empty `metric`, its `status` and
the `reason`.
"""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ebmbench.core.errors import UserError
from ebmbench.core.schema import read_yaml

Row = dict[str, str]
COLUMNS = {
    "suite": "the suite the run belongs to",
    "dataset": "name of the dataset",
    "method": "name of the method or baseline",
    "settings": "swept settings, `interval=5`; empty when nothing is swept",
    "seed": "seed of the run; empty for a failed or stale cell",
    "label": "name of the run inside its cell, `interval=5/seed=0`",
    "digest": "digest of everything that produced the run",
    "status": "ok, diverged, skipped (runs); failed, stale (cells)",
    "verdict": "health of the run: ok, unmixed, short-run-only, miscalibrated, or else its status",
    "verdict_reason": "why the verdict is not ok",
    "reason": "why there is no value",
    "metric": "name of the metric",
    "samples": "kind of samples behind the value: buffer, short, long, data, exact; empty if it needs none",
    "value": "its value; empty when not available",
    "error": "standard error of this single value, where known",
    "n": "samples or grid points behind the value",
    "direction": "which values are better: lower, higher, or empty",
    "protocol": "how the value was measured, in short",
    "steps": "training steps done",
    "seconds_train": "wall time of training",
    "seconds_sample": "wall time of sampling",
    "seconds_evaluate": "wall time of evaluation",
    "peak_memory_mb": "largest memory of the three, in megabytes",
}
INTEGERS = ("seed", "n", "steps")
NUMBERS = ("value", "error", "seconds_train", "seconds_sample", "seconds_evaluate", "peak_memory_mb")
TIMINGS = ("seconds_train", "seconds_sample", "seconds_evaluate", "peak_memory_mb")


def load_results(path: Path | str | None = None) -> pd.DataFrame:
    """The results as a typed frame: text as `str`, counts as `Int64`, values as `float64`; see `COLUMNS`.

    Without a path: the latest report of the suite that `params.yaml` in the current folder names.
    """
    file = Path(path) if path is not None else _latest(Path())
    file = file / "results.csv" if file.is_dir() else file
    if not file.is_file():
        raise UserError(f"{file}: not found; `ebmbench run` writes it")
    return typed(read_rows(file))


def parse_results(lines: Iterable[str]) -> pd.DataFrame:
    """The same frame from the lines of a `results.csv` that is no file here."""
    return typed(list(csv.DictReader(lines)))


def read_rows(file: Path) -> list[Row]:
    """The rows of a CSV as text, so that an empty field stays empty and no digest turns into a number."""
    with file.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def typed(rows: Sequence[Row]) -> pd.DataFrame:
    """A frame of the columns of `COLUMNS`, in order, with their types; what a row lacks is empty."""
    return pd.DataFrame({name: _column(name, [row.get(name) or "" for row in rows]) for name in COLUMNS})


def write_results(frame: pd.DataFrame, file: Path) -> None:
    """Write with all digits (the shortest text that reads back as the same number)."""
    frame.to_csv(file, index=False, lineterminator="\n", encoding="utf-8")


def _column(name: str, texts: list[str]) -> pd.Series:
    # Python's own float() gives back the very number that was written; pandas' fast parser may not.
    if name in INTEGERS:
        return pd.Series([int(float(text)) if text else pd.NA for text in texts], dtype="Int64")
    if name in NUMBERS:
        return pd.Series([float(text or "nan") for text in texts], dtype="float64")
    return pd.Series(texts, dtype="str")


def _latest(root: Path) -> Path:
    params = root / "params.yaml"
    if not params.is_file():
        raise UserError(f"{params.resolve()}: not found; run from the project's folder or give a path")
    suite = read_yaml(params)["benchmark"]["suite"]
    return root / "reports" / str(suite) / "latest" / "results.csv"
