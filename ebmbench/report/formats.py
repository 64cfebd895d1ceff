"""The results as JSON or Parquet, for other programs, and back as rows of text.

JSON is a list with one object per row: text, numbers, and `null` where a number is empty. JSON has no infinity: it is
the text `inf` or `-inf` there, which reads back as the number. Parquet keeps the types of the frame.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.core.errors import UserError

Row = dict[str, str]  # text by column


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """With all digits: the shortest text that reads back as the same number."""
    frame.to_csv(file, index=False, lineterminator="\n", encoding="utf-8")


def write_json(frame: pd.DataFrame, file: Path) -> None:
    """One row per line, so that a difference is easy to see."""
    filled = frame.astype(object).where(frame.notna(), None).to_dict("records")
    rows = [{name: _finite(value) for name, value in row.items()} for row in filled]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")


def read_json(file: Path) -> list[Row]:
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
    """Values as text, by which `typed` makes the same frame whatever file they come from."""
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        words = "found no pyarrow, which .parquet needs: `pip install 'ebmbench[parquet]'`; .csv and .json need nothing"
        raise UserError(words) from error
