"""`results.csv`: one row for each run, metric and kind of samples; the report takes all its numbers from this table.

The table is tidy: filter by `metric`, group by `dataset`, `method` and `settings`, take statistics over `seed`. A cell
without valid numbers, and a run without any, has one row with an empty `metric`, its `status` and the `reason`.

For other programs it can be written as JSON or Parquet, and read back. JSON is a list with one object for each row, and
`null` where a number is empty; infinity, which JSON lacks, is the text `inf` or `-inf`. Parquet keeps the types.
"""

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.config.schema import read_yaml
from ebmbench.errors import UserError, one_line
from ebmbench.workspace.files import replacing
from ebmbench.workspace.layout import PARAMS_YAML, current_report

Row = dict[str, str]  # text by column
COLUMNS = {
    "suite": "the suite the run belongs to",
    "dataset": "name of the dataset",
    "method": "name of the method or baseline",
    "settings": "swept settings, `interval=5`; empty when nothing is swept",
    "seed": "seed of the run; empty for a cell without runs",
    "label": "name of the run inside its cell, `interval=5/seed=0`",
    "digest": "digest of everything that produced the run",
    "status": "ok, diverged, skipped (runs); failed, stale, not run (cells)",
    "verdict": "health of the run, the worse of the next two; or else its status",
    "verdict_reason": "why the verdict is not ok",
    "density_verdict": "health of its density: ok, not judged, miscalibrated",
    "sampler_verdict": "health of its long runs: ok, not judged, sampler limit, unmixed, short-run-only",
    "reason": "why there is no value",
    "metric": "name of the metric",
    "samples": "kind of samples behind the value: buffer, short, long, data, exact; empty if it needs none",
    "value": "its value; empty when not available",
    "error": "standard error of this single value, where known",
    "n": "samples or grid points behind the value",
    "direction": "which values are better: lower, higher, none (a diagnostic), or empty",
    "protocol": "how the value was measured, in short",
    "steps": "training steps done",
    "restarts": "times that the run went back to a healthy state after it had diverged",
    "seconds_train": "wall time of training",
    "seconds_sample": "wall time of sampling",
    "seconds_evaluate": "wall time of evaluation",
    "peak_memory_mb": "largest memory of the three, in megabytes",
}
INTEGERS = ("seed", "n", "steps", "restarts")
NUMBERS = ("value", "error", "seconds_train", "seconds_sample", "seconds_evaluate", "peak_memory_mb")
NEEDED = ("suite", "dataset", "method", "status", "metric", "value")  # what the very first report had, and any must
FAULTS = (ValueError, OverflowError, csv.Error)
TIMINGS = ("seconds_train", "seconds_sample", "seconds_evaluate", "peak_memory_mb")


def load_results(path: Path | str | None = None) -> pd.DataFrame:
    """The results as a typed frame: text as `str`, counts as `Int64`, values as `float64`; see `COLUMNS`.

    `path` is a report's folder or a file: its `results.csv`, or what `ebmbench report export` wrote. Without a path:
    the latest report of the suite that `params.yaml` in the current folder names.
    """
    file = Path(path) if path is not None else _latest(Path())
    file = file / "results.csv" if file.is_dir() else file
    if not file.is_file():
        raise UserError(f"{file}: not found; `ebmbench run` writes it")
    try:
        return _checked(READERS.get(file.suffix, read_rows)(file))
    except (*FAULTS, OSError) as error:
        raise UserError(f"{file}: {_line(error)}") from error


def parse_results(lines: Iterable[str], name: str) -> pd.DataFrame:
    """The same frame from the lines of a `results.csv` that is no file here; `name` is for errors."""
    try:
        return _checked(list(csv.DictReader(lines)))
    except FAULTS as error:
        raise UserError(f"{name}: {_line(error)}") from error


def read_rows(file: Path) -> list[Row]:
    """The rows of a CSV as text, so that an empty field stays empty and no digest turns into a number."""
    with file.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """A frame of the columns of `COLUMNS`, in order, with their types; what a row lacks is empty."""
    return pd.DataFrame({name: _column(name, [row.get(name) or "" for row in rows]) for name in COLUMNS})


def write_results(frame: pd.DataFrame, file: Path) -> None:
    """Write as the name says: `.csv`, `.json` or `.parquet`."""
    if file.suffix not in WRITERS:
        raise UserError(f"{file.name}: found '{file.suffix}', allowed: a name that ends in {', '.join(WRITERS)}")
    with replacing(file) as temporary:
        WRITERS[file.suffix](frame, temporary)


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """With all digits: the shortest text that reads back as the same number."""
    frame.to_csv(file, index=False, lineterminator="\n", encoding="utf-8")


def write_json(frame: pd.DataFrame, file: Path) -> None:
    """One row per line, so that a difference is easy to see."""
    filled = frame.astype(object).where(frame.notna(), None).to_dict("records")
    rows = [{name: _finite(value) for name, value in row.items()} for row in filled]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")


def read_json_rows(file: Path) -> list[Row]:
    """The rows of such a list."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("found no list of rows")
    return _texts(rows)


def write_parquet(frame: pd.DataFrame, file: Path) -> None:
    """With types: text, 64-bit integers and floats, null where empty."""
    _need_pyarrow()
    frame.to_parquet(file, engine="pyarrow", index=False)


def read_parquet(file: Path) -> list[Row]:
    """The rows of such a table."""
    _need_pyarrow()
    from pyarrow import parquet

    return _texts(parquet.read_table(file).to_pylist())


def _texts(rows: Iterable[dict[str, Any]]) -> list[Row]:
    """Values as text, by which `to_frame` makes the same frame whatever file they come from."""
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        words = "found no pyarrow, which .parquet needs: `pip install 'ebmbench[parquet]'`; .csv and .json need nothing"
        raise UserError(words) from error


READERS = {".csv": read_rows, ".json": read_json_rows, ".parquet": read_parquet}
WRITERS = {".csv": write_csv, ".json": write_json, ".parquet": write_parquet}


def _checked(rows: Sequence[Row]) -> pd.DataFrame:
    """Refuse what is no table of results, before its missing columns pass for those of an old report."""
    if rows and (lacking := [name for name in NEEDED if name not in rows[0]]):
        raise ValueError(f"found no column {', '.join(lacking)}, allowed: the results of a report")
    return to_frame(rows)


def _column(name: str, texts: list[str]) -> pd.Series:
    # Python's own float() gives back the very number that was written; pandas' fast parser may not.
    if name not in (*INTEGERS, *NUMBERS):
        return pd.Series([one_line(text) for text in texts], dtype="str")  # a file's bytes may reach a terminal
    numbers = [_number(name, text) for text in texts]
    if name in NUMBERS:
        return pd.Series(numbers, dtype="float64")
    return pd.Series([int(one) if one == one else pd.NA for one in numbers], dtype="Int64")


def _number(name: str, text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError as error:
        raise ValueError(f"{name}: found {text!r}, allowed: a number or nothing") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _latest(root: Path) -> Path:
    params = root / PARAMS_YAML
    if not params.is_file():
        raise UserError(f"{params.resolve()}: not found; run from the project's folder or give a path")
    suite = read_yaml(params)["benchmark"]["suite"]
    return current_report(root, str(suite)) / "results.csv"
