"""What a report prints: its tables as cells, its numbers with their rounding, and the rows behind them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ebmbench.report.sections.glance import FRACTION

Table = list[list[str]]


def tables(report: Path) -> list[Table]:
    """The tables of the report as cells, without the rule below the header."""
    found: list[Table] = [[]]
    for line in (report / "report.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| :---"):
            continue
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def table_of(report: Path, *header: str) -> Table:
    """The first table whose header begins with these cells."""
    return next(table for table in tables(report) if table[0][: len(header)] == list(header))


def parse(text: str, digits: int = 3) -> tuple[float, float]:
    """A printed number and how far rounding may have moved it; whole numbers have so many significant digits."""
    plain = text.strip("*").replace("−", "-").replace("\u202f", "").replace("\u00a0", " ").strip()
    mantissa, _, exponent = plain.partition("e")
    whole, _, decimals = mantissa.strip("-").partition(".")
    unit = 10.0 ** (int(exponent or 0) - (len(decimals) if decimals else min(0, digits - len(whole))))
    return float(plain), 0.5 * unit * (1 + 1e-9)


def rows_of(results: pd.DataFrame, dataset: str, name: str) -> pd.DataFrame:
    method, _, settings = name.strip("*").partition(" ")
    chosen = (results["dataset"] == dataset) & (results["method"] == method) & (results["settings"] == settings)
    return results[chosen]


def values_of(rows: pd.DataFrame, metric: str, kind: str | None = None) -> list[float]:
    """The values of good runs; of one kind of samples (or exact ones, of a baseline) if it is given."""
    chosen = (rows["metric"] == metric) & (rows["status"] == "ok")
    if kind is not None:
        chosen &= rows["samples"].isin([kind, "exact"])
    return [float(value) for value in rows.loc[chosen, "value"].dropna()]


def expect_median(text: str, values: list[float]) -> None:
    """Assert that `text` prints the median of these values, and their range if there is one."""
    text = FRACTION.sub("", text.strip("*")).replace("(failed)", "").strip()
    assert (text == "–") == (not values)
    if values:
        median, _, spread = text.partition("\u00a0(")
        ends = spread.strip(")").split("–") if spread else []
        for printed, value in zip([median, *ends], [float(np.median(values)), min(values), max(values)], strict=False):
            assert parse(printed)[0] == pytest.approx(value, abs=parse(printed)[1])
        assert not ends or len(ends) == 2


def expect(text: str, values: list[float]) -> None:
    """Assert that `text` prints the mean and the half width of these values."""
    text = FRACTION.sub("", text.strip("*")).strip()
    if not values:
        assert text == "–"
        return
    first, *rest = text.strip("*").split("\u00a0±\u00a0")
    mean, half = parse(first), [parse(part, digits=2) for part in rest]
    assert mean[0] == pytest.approx(float(np.mean(values)), abs=mean[1])
    assert len(half) == (float(np.ptp(values)) > 1e-9)
    expected = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1) if half else 0.0
    assert not half or half[0][0] == pytest.approx(float(expected), abs=half[0][1])
