"""`docs/results.md` is the schema of `results.csv`, and its examples run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.config.registry import names
from ebmbench.experiment.verdict import WORDS
from ebmbench.report.results.curves import COLUMNS as CURVES
from ebmbench.report.results.groups import COSTS
from ebmbench.report.results.table import COLUMNS, INTEGERS, NUMBERS, load_results
from ebmbench.report.results.verdicts import VERDICTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
REPORTS = sorted(ROOT.glob("reports/*/*/results.csv"))


def rows() -> Iterator[list[str]]:
    """The table of columns."""
    for line in PAGE.split("## Columns")[1].split("## Examples")[0].splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


def documented(column: str) -> set[str]:
    """The words that the page allows for a column."""
    (values,) = [row[3] for row in rows() if row[0] == f"`{column}`"]
    return set(re.findall(r"`([^`]+)`", values))


def kind(column: str) -> str:
    return "integer" if column in INTEGERS else "number" if column in NUMBERS else "text"


def test_the_page_lists_the_columns_of_the_table_with_their_types_in_order() -> None:
    found = [(row[0].strip("`"), row[1]) for row in rows()]
    assert found == [(column, kind(column)) for column in COLUMNS]
    assert all(len(row) == 5 for row in rows())


def test_the_page_explains_the_columns_of_the_curves() -> None:
    section = PAGE.split("## curves.csv")[1]
    assert re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", section) == list(CURVES.items())


@pytest.mark.parametrize("report", REPORTS, ids=lambda file: file.parent.relative_to(ROOT / "reports").as_posix())
def test_committed_reports_hold_no_other_words_than_the_page_allows(report: Path) -> None:
    frame = load_results(report)
    for column in ("status", "verdict", "density_verdict", "sampler_verdict", "samples", "direction"):
        assert set(frame[column]) - {""} <= documented(column), column
    assert set(frame["metric"]) - {""} <= {*names("metrics"), *COSTS}
    for column in ("suite", "dataset", "method", "status"):
        assert (frame[column] != "").all(), column


def test_the_counts_of_cost_and_the_verdicts_are_named() -> None:
    assert documented("metric") >= set(COSTS)
    assert documented("verdict") == set(VERDICTS)
    assert documented("density_verdict") | documented("sampler_verdict") == set(WORDS)


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    """All examples, one after the other."""
    known: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            exec(example, known)
    return known


def test_the_examples_give_what_they_say(examples: dict[str, Any]) -> None:
    median: pd.Series = examples["median"]
    assert median.index.names == ["dataset", "method", "settings"]
    assert median["two_moons", "oracle", ""] < median["two_moons", "gaussian", ""]
    assert list(examples["diverged"].columns) == ["dataset", "method", "settings", "seed", "reason"]
    assert examples["diverged"].empty
    both: pd.DataFrame = examples["both"]
    assert both["ratio"].notna().any()
    assert not both.duplicated(examples["key"]).any()


def test_the_columns_of_a_version_are_those_that_the_page_tells() -> None:
    """The first report has all columns but those that the page says came later."""
    later = set(re.findall(r"^\| (?!0\.1\.0)\S+ \| (.*) \|$", PAGE.split("## How the table changes")[1], re.MULTILINE))
    added = {name for cell in later for name in re.findall(r"`(\w+)`", cell)}
    first = (ROOT / "reports/quick/0.1.0/results.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
    assert set(first) == set(COLUMNS) - added
