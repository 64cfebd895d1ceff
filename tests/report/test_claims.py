"""The report of claims: every verdict, number and figure of the accounts, and what failed or has not run."""

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.record import run_claim
from ebmbench.errors import UserError
from ebmbench.report.claims.build import build_claims
from ebmbench.report.claims.text import format_significant
from ebmbench.report.compare.claims import compare_claims
from ebmbench.report.compare.page import compare, compare_with_release
from ebmbench.report.index import write_index
from ebmbench.report.page.html import write_page
from ebmbench.report.release import release
from ebmbench.workspace.failures import note_failure
from tests.claims.testing.sample import NAME, coin, known
from tests.report.suite import write_stage_record

PARAMS: dict[str, Any] = {"benchmark": {"suite": "claims", "claims": [NAME, "one_that_failed", "one_to_come"]}}


def account(root: Path, bias: float, **criterion: Any) -> None:
    folder = root / "runs/claims/_claims" / NAME
    shutil.rmtree(folder, ignore_errors=True)
    with known(coin(bias, **criterion)):
        run_claim(NAME, 0, 100, Bench(root, fresh=True)).save(folder)
    write_stage_record(root, PARAMS, f"claim@{NAME}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text(json.dumps(PARAMS), encoding="utf-8")
    account(tmp_path, 0.6)
    note_failure(tmp_path, "claims", "claim@one_that_failed", "ValueError: | <b>no</b>")
    build_claims(tmp_path, PARAMS)
    return tmp_path


@pytest.fixture
def whole(project: Path) -> Path:
    """All claims were run: a failure is a result."""
    note_failure(project, "claims", "claim@one_to_come", "ValueError: no")
    build_claims(project, PARAMS)
    return project


def page(project: Path) -> str:
    return (project / "reports/claims/latest/claims.md").read_text(encoding="utf-8")


def html_of(project: Path) -> str:
    return write_page(project / "reports/claims/latest", project / "work/pages/claims.html").read_text(encoding="utf-8")


def test_the_answer_comes_first_then_a_row_for_every_claim_with_its_verdict_and_source(project: Path) -> None:
    assert page(project).split("\n\n")[2].startswith("**3 claims: 1 reproduced, 1 failed, 1 not run.** Two disjoint")
    table = re.search(r"(?m)^\| verdict \|.*(?:\n\|.*)+", page(project))[0].splitlines()[2:]
    assert len(table) == 3
    assert table[0].startswith(f"| ✓ reproduced | [The coin is unfair](#{NAME}) | share of heads: 0.6")
    assert table[0].endswith("; asked: above 0.5 | [Bernoulli (1713)](https://example.org/ars) |")
    assert table[1].startswith("| failed |")
    assert table[2].startswith("| not run |")
    assert "Two disjoint sets of seeds agree on 1 of 1." in page(project)


def test_every_number_of_the_account_is_printed(project: Path) -> None:
    verdict = json.loads((project / f"runs/claims/_claims/{NAME}/verdict.json").read_text(encoding="utf-8"))
    for finding in (verdict["criteria"][0]["finding"], verdict["criteria"][0]["again"]):
        for key in ("mean", "low", "high"):
            assert format_significant(finding[key]) in page(project)
    values = pd.read_csv(project / "reports/claims/latest/values.csv")
    assert values["value"].tolist() == [
        *verdict["criteria"][0]["finding"]["values"],
        *verdict["criteria"][0]["again"]["values"],
    ]


def test_a_published_number_stands_beside_what_each_seed_found(project: Path) -> None:
    assert "Published numbers" not in page(project)
    file = project / f"runs/claims/_claims/{NAME}/verdict.json"
    verdict = json.loads(file.read_text(encoding="utf-8"))
    verdict["criteria"][0] |= {"published": 0.625, "rule": "within 0.1 of 0.625 (at every seed)"}
    file.write_text(json.dumps(verdict), encoding="utf-8")
    write_stage_record(project, PARAMS, f"claim@{NAME}")
    build_claims(project, PARAMS)
    values = ", ".join(f"{value:.5g}" for value in verdict["criteria"][0]["finding"]["values"])
    row = f"| share of heads | Bernoulli (1713) | 0.625 | within 0.1 of 0.625 | {values} | ✓ reproduced |"
    assert row in page(project)


def test_every_link_and_figure_leads_somewhere_on_both_pages(project: Path) -> None:
    latest = project / "reports/claims/latest"
    headings = [line.strip("# `") for line in page(project).splitlines() if line.startswith("###")]
    assert set(re.findall(r"\]\(#([^)]+)\)", page(project))) <= set(headings)
    assert all((latest / path).is_file() for path in re.findall(r"\]\((figures/[^)]+)\)", page(project)))
    html = html_of(project)
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(re.findall(r'id="([^"]+)"', html))
    assert html.count("data:image/png") == 1


def test_what_a_failure_says_acts_on_nothing(project: Path) -> None:
    assert "<b>" not in page(project)
    assert "<b>no</b>" not in html_of(project)


def test_a_part_of_the_claims_is_not_released(project: Path) -> None:
    assert "· partial report: 2 of 3 claims, 1 not run\n" in page(project)
    with pytest.raises(UserError, match="found not run: one_to_come, allowed: none"):
        release(project, "claims", "0.1.0")


def test_a_release_is_listed_and_the_next_report_is_compared_with_it(whole: Path) -> None:
    project = whole
    assert compare_with_release(project, "claims") is None
    release(project, "claims", "0.1.0")
    assert "[0.1.0](claims/0.1.0/claims.md)" in write_index(project).read_text(encoding="utf-8")
    since = compare_with_release(project, "claims")
    assert since is not None
    assert since.line == "since 0.1.0: 0 verdicts of 3 changed (reports/claims/comparison.md)"
    account(project, 0.4)
    build_claims(project, PARAMS)
    since = compare_with_release(project, "claims")
    assert since is not None
    assert f"1 verdict of 3 changed: {NAME} (reproduced → not reproduced)" in since.line
    assert "| heads | above 0.5" in (project / since.path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda project: PARAMS | {"claims": {"first": 7}}, "made with other parameters: `claims` was not set, is now"),
        (lambda project: (project / "ebmbench/core").mkdir(parents=True), "files than are here now: `ebmbench/core`"),
        (lambda project: (project / f"runs/claims/_claims/{NAME}/record.json").unlink(), "without a record"),
    ],
)
def test_a_claim_that_was_put_to_another_test_is_stale_and_decides_nothing(
    project: Path, edit: Callable[[Path], Any], reason: str
) -> None:
    params = edit(project) or PARAMS
    build_claims(project, params)
    assert "1 stale" in page(project)
    assert "`ebmbench run` makes it anew" in page(project)
    assert reason in page(project)
    assert "✓" not in page(project)
    assert not list((project / "reports/claims/latest").glob("values.csv"))
    with pytest.raises(UserError, match=f"found stale: {NAME}"):
        release(project, "claims", "0.1.0")


def test_a_folder_without_verdicts_cannot_be_compared(project: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no verdicts\.csv"):
        compare_claims(project / "reports/claims/latest", tmp_path)


def test_the_command_compares_folders_of_claims_and_says_so_of_revisions(whole: Path) -> None:
    project = whole
    release(project, "claims", "0.1.0")
    for after in ("workspace", "reports/claims/latest"):
        assert "0 verdicts of 3 changed" in compare(project, "reports/claims/0.1.0", after, None)
    with pytest.raises(UserError, match="only folders are compared"):
        compare(project, "HEAD", "workspace", None)
    with pytest.raises(UserError, match=r"found no reports/quick/latest/results\.csv"):
        compare(project, "HEAD", "workspace", "quick")


def test_a_ratio_is_told_as_a_factor_on_the_page_and_in_a_comparison(whole: Path) -> None:
    project = whole
    for bias in (0.6, 0.4):
        account(project, bias, logarithm="ratio", bound=math.log(2) - 0.2)
        build_claims(project, PARAMS)
        if not (project / "reports/claims/0.1.0").exists():
            release(project, "claims", "0.1.0")
    verdict = json.loads((project / f"runs/claims/_claims/{NAME}/verdict.json").read_text(encoding="utf-8"))
    finding = verdict["criteria"][0]["finding"]
    section = page(project).partition(f"### `{NAME}`")[2]
    low, mean, high = (format_significant(math.exp(finding[key])) for key in ("low", "mean", "high"))
    assert f"✗ {mean} ({low} … {high})" in section
    assert "| share of heads | more than 1.64 times |" in section
    assert "0.493" not in section
    page_of_changes = compare(project, "reports/claims/0.1.0", "workspace", None)
    assert f"| {mean} | not reproduced |" in page_of_changes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.03125, "0.0312"),
        (4.1234e-7, "4.1e-07"),
        (1597.3, "1597"),
        (12.0, "12"),
        (1e6, "1.0e+06"),
        (None, "–"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert format_significant(value) == text
