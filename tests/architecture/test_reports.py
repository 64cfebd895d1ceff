"""The committed reports: their tables are those of their own `results.csv`, line by line, and their numbers too."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.config.schema import read_yaml
from ebmbench.report.build import assemble
from ebmbench.report.claims.text import format_significant
from ebmbench.report.results.groups import drop_silent_baselines
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from tests.report.printed import parse, rows_of, table_of, values_of

ROOT = Path(__file__).parents[2]
# Reports that the present program wrote; older ones are as they were.
PAGES = sorted(page.parent for page in (ROOT / "reports").glob("*/latest/index.html"))
REPORTS = [report for report in PAGES if (report / "results.csv").is_file()]
# Those whose verdicts and ties are by the present rules.
PRESENT = [one for one in REPORTS if "density_verdict" in (one / "results.csv").read_text(encoding="utf-8")]
CLAIMS = [report for report in PAGES if (report / "verdicts.csv").is_file()]


def name_of(report: Path) -> str:
    return report.parent.name


@pytest.mark.parametrize("report", PRESENT, ids=name_of)
def test_every_line_of_every_table_follows_from_the_results(report: Path) -> None:
    results = Results(drop_silent_baselines(load_results(report)), read_yaml(report / "params.yaml"))
    known = set(assemble(results).splitlines())
    lines = (report / "report.md").read_text(encoding="utf-8").partition("## Provenance")[0].splitlines()
    printed = [
        line
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("| ") and not below.startswith("| :---")
    ]
    assert len(printed) > 20
    assert [line for line in printed if line not in known] == []


@pytest.mark.parametrize("report", REPORTS, ids=name_of)
def test_the_first_table_is_recomputed_by_other_means(report: Path) -> None:
    results, text = load_results(report), (report / "report.md").read_text(encoding="utf-8")
    metric = {"KL": "kl", "FID ratio": "fid_ratio"}[re.search(r"\| median (.*?) ↓", text)[1]]
    (corner, *columns), *rows = table_of(report, re.search(r"\| (median .*?) \|", text)[1])
    assert corner.startswith("median")
    for name, *cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            dataset, _, kind = column.replace("`", "").partition(", ")
            values = values_of(rows_of(results, dataset, name), metric, kind or None)
            shown = re.sub(r"\(.*\)", "", cell.strip("*")).strip()
            assert (shown == "–") == (not values)
            assert not values or parse(shown)[0] == pytest.approx(float(np.median(values)), abs=parse(shown)[1])


@pytest.mark.parametrize("report", REPORTS, ids=name_of)
def test_a_report_keeps_the_parameters_of_its_suite_and_small_figures(report: Path) -> None:
    assert read_yaml(report / "params.yaml")["benchmark"]["suite"] == report.parent.name
    assert max(file.stat().st_size for file in (report / "figures").iterdir()) < 300_000


@pytest.mark.parametrize("report", CLAIMS, ids=name_of)
def test_every_verdict_and_number_of_a_report_of_claims_follows_from_its_values(report: Path) -> None:
    """Means from values.csv, verdicts from the two sets, and all of them on the page."""
    text = (report / "claims.md").read_text(encoding="utf-8")
    verdicts, values = pd.read_csv(report / "verdicts.csv"), pd.read_csv(report / "values.csv")
    means = values.groupby(["claim", "statistic", "set"])["value"].mean()
    for row in verdicts.itertuples():
        both = {row.first, row.again}
        assert row.verdict == (row.first if len(both) == 1 else "undecided")
        assert row.mean == pytest.approx(means[row.claim, row.statistic, "first"], rel=1e-9, abs=1e-300)
        assert row.mean_again == pytest.approx(means[row.claim, row.statistic, "again"], rel=1e-9, abs=1e-300)
        section = text.partition(f"### `{row.claim}`")[2].partition("\n### ")[0]
        assert format_significant(row.mean) in section
        assert format_significant(row.mean_again) in section
        assert row.verdict in section
    counts = verdicts.drop_duplicates("claim")["verdict"].value_counts()
    assert all(f"{count} {verdict}" in text.split("\n\n")[1] for verdict, count in counts.items())
    assert len(list((report / "figures").glob("*.png"))) == verdicts["claim"].nunique()
