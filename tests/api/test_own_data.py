"""A report on data without a known density: it is decided by the best metric that exists, and by nothing else."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import ebmbench
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import find_contests
from tests.api.conftest import METHODS


def text_of(project: Path) -> str:
    return (project / "reports/tiny/latest/report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return Results(
        ebmbench.load_results(project / "reports/tiny/latest"), json.loads((project / "params.yaml").read_text())
    )


def test_the_best_metric_that_exists_decides(results: Results) -> None:
    assert results.main_metric == "kl"
    assert results.main_metric_of("plane") == "log_likelihood"
    assert results.main_metric_of("wide") == "sliced_wasserstein"
    assert [(one.metric, one.datasets) for one in find_contests(results)] == [
        ("log_likelihood", ["plane"]),
        ("sliced_wasserstein", ["wide"]),
    ]


def test_no_table_of_quality_has_an_empty_column(project: Path) -> None:
    tables = [
        part for part in re.findall(r"(?m)^\|.*(?:\n\|.*)+", text_of(project)) if "median" in part or "verdict" in part
    ]
    assert len(tables) >= 4
    for table in tables:
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
        names, columns = [row[0] for row in rows], list(zip(*rows, strict=True))
        assert "median KL ↓" not in names
        assert not [column[0] for column in columns if set(column[2:]) == {"–"}], table


def test_small_data_have_an_mmd(project: Path) -> None:
    frame = ebmbench.load_results(project / "reports/tiny/latest")
    found = frame[frame["metric"] == "mmd"]
    assert found["value"].notna().all()
    assert set(found["protocol"].str.partition(",")[0]) == {"4 blocks of 25"}


def test_the_curve_of_data_in_the_plane_is_of_their_metric(project: Path) -> None:
    curve = pd.read_csv(project / "runs/tiny/plane/nce/curve.csv")
    assert set(curve["metric"]) == {"log_likelihood"}
    assert curve.groupby("label")["value"].count().eq(2).all()
    assert (project / "reports/tiny/latest/figures/cost-log_likelihood.svg").is_file()


def test_the_summary_has_the_medians_of_that_metric(project: Path, results: Results) -> None:
    summary = json.loads((project / "reports/tiny/latest/summary.json").read_text())
    assert {name: set(found) for name, found in summary.items()} == {name: set(METHODS) for name in ("plane", "wide")}
    for dataset, found in summary.items():
        rows = results.frame[(results.frame["dataset"] == dataset) & (results.frame["method"] == "dsm")]
        values = rows.loc[rows["metric"] == results.main_metric_of(dataset), "value"]
        assert found["dsm"] == pytest.approx(values.median())
