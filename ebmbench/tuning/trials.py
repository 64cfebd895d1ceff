"""`reports/tuning/trials.csv`: every trial of every search, one row for each round that it was in.

No seconds and no dates: a search that is repeated writes the same bytes.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ebmbench.workspace.files import write_csv
from ebmbench.workspace.layout import REPORTS

FOLDER = f"{REPORTS}/tuning"
FIRST = ["method", "trial", "round", "criterion", "settings"]
LAST = ["value", "seeds", "status", "reason", "passes"]


@dataclass(frozen=True)
class Row:
    """A trial in a round. `scores` are means over the seeds, by dataset; `value` the mean of their logs."""

    method: str
    trial: int
    round: int
    criterion: str
    settings: str
    scores: dict[str, float | None]
    value: float
    seeds: str
    status: str
    reason: str
    passes: int

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the best first, of equals the earlier."""
        return self.value, self.trial

    @property
    def ended_well(self) -> bool:
        """Whether every run gave a number."""
        return math.isfinite(self.value)


def settings_text(values: dict[str, Any]) -> str:
    """`learning_rate=0.001, sampler.steps=10`; values as YAML has them."""
    return ", ".join(f"{path}={value_text(value)}" for path, value in values.items())


def value_text(value: Any) -> str:
    """A number, word, true, false or null."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def settings_values(text: str) -> dict[str, Any]:
    """The same, read back."""
    pairs = (part.split("=", 1) for part in text.split(", "))
    return {path: YAML(typ="safe").load(value) for path, value in pairs}


def winner(rows: list[Row]) -> Row | None:
    """The best of the last round of a method's rows; None if no finalist ended well."""
    return min((row for row in rows if row.round == 2 and row.ended_well), key=lambda row: row.rank, default=None)


def of_method(rows: list[Row], method: str, number: int | None = None) -> list[Row]:
    """The rows of a method, of one round or of both."""
    return [row for row in rows if row.method == method and number in (None, row.round)]


def merged(old: list[Row], new: list[Row], order: list[str]) -> list[Row]:
    """New rows in place of the old ones of the same methods; methods in this order, others after them."""
    tuned = {row.method for row in new}
    rows = [row for row in old if row.method not in tuned] + new
    places = {method: place for place, method in enumerate(order)}
    return sorted(rows, key=lambda row: (places.get(row.method, len(places)), row.method, row.round, row.trial))


def write_table(path: Path, rows: list[Row]) -> None:
    """Floats are written so that they read back the same."""
    datasets = list(dict.fromkeys(name for row in rows for name in row.scores))
    write_csv(path, [*FIRST, *datasets, *LAST], ({**vars(row), **row.scores} for row in rows))


def read_table(path: Path) -> list[Row]:
    """The rows of a table; none if there is no table yet."""
    if not path.is_file():
        return []
    return [_row(cells) for cells in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]


def _row(cells: dict[str, str]) -> Row:
    datasets = [name for name in cells if name not in [*FIRST, *LAST]]
    numbers: dict[str, Any] = {name: int(cells[name]) for name in ("trial", "round", "passes")}
    scores = {name: float(cells[name]) if cells[name] else None for name in datasets}
    rest = {name: cells[name] for name in [*FIRST, *LAST] if name not in numbers}
    return Row(**{**rest, **numbers, "scores": scores, "value": float(cells["value"])})
