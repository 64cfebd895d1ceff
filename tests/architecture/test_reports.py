"""The committed reports: their tables are those of their own `results.csv`, line by line, and their numbers too."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.config.schema import read_yaml
from ebmbench.report.build import assemble
from ebmbench.report.claims.text import format_statistic
from ebmbench.report.index import render_index
from ebmbench.report.results.groups import drop_silent_baselines
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.workspace.git import ask_git
from tests.report.printed import parse, rows_of, table_of, values_of

ROOT = Path(__file__).parents[2]
# Reports by the present layout; older ones, which have no curves, are as they were.
REPORTS = sorted(file.parent for file in (ROOT / "reports").glob("*/latest/curves.csv"))
# Those whose verdicts and ties are by the present rules.
PRESENT = [one for one in REPORTS if "density_verdict" in (one / "results.csv").read_text(encoding="utf-8")]
CLAIMS = sorted(file.parent for file in (ROOT / "reports").glob("*/latest/verdicts.csv"))
MAIN = {"KL": "kl", "FID ratio": "fid_ratio", "log-likelihood or bound": "variational_bound"}


def name_of(report: Path) -> str:
    return report.parent.name


def test_the_page_of_all_reports_is_what_the_reports_give() -> None:
    if ask_git(ROOT, "rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("versions of old reports are in the history (`git fetch --unshallow` brings it)")
    page = (ROOT / "reports" / "README.md").read_text(encoding="utf-8")
    assert page == render_index(ROOT), "run `ebmbench report index`"


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
    metric = MAIN[re.search(r"\| median (.*?) [↓↑]", text)[1]]
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
        both = {row.first, row.first if pd.isna(row.again) else row.again}  # anchors are decided once
        assert row.verdict == (row.first if len(both) == 1 else "undecided")
        found = {"first": row.mean} if pd.isna(row.again) else {"first": row.mean, "again": row.mean_again}
        for part, mean in found.items():
            assert mean == pytest.approx(means[row.claim, row.statistic, part], rel=1e-9, abs=1e-300, nan_ok=True)
        section = text.partition(f"### `{row.claim}`")[2].partition("\n### ")[0]
        logarithm = getattr(row, "logarithm", "")  # reports before 0.9 print the statistics as they are
        for mean in (mean for mean in found.values() if not pd.isna(mean)):
            assert format_statistic(mean, logarithm if isinstance(logarithm, str) else "") in section
        assert row.verdict in section
    counts = verdicts.drop_duplicates("claim")["verdict"].value_counts()
    assert all(f"{count} {verdict}" in text.partition("\n## ")[0] for verdict, count in counts.items())
    assert len(list((report / "figures").glob("*.png"))) == verdicts["claim"].nunique()
