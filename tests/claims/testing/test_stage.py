"""The stage of a claim and the report after it, as DVC calls them; what is asked for wrongly is refused in one line."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmbench.cli.main import main as ebmbench
from ebmbench.config.params import load_params
from ebmbench.stages import claim, report
from ebmbench.stages.preparation import prune
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import record_file
from ebmbench.workspace.record import write_record
from pipelines.planning.selection import select_stages
from tests.claims.testing.sample import NAME, coin, known

ROOT = Path(__file__).parents[3]
PARAMS = f"""\
benchmark: {{suite: small, seeds: [0], datasets: [], methods: [], metrics: [kl], baselines: [], claims: [{NAME}]}}
training: {{}}
metrics: {{health: {{}}}}
claims: {{first: 3, again: 50}}
datasets: {{}}
methods: {{}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS)
    monkeypatch.chdir(tmp_path)
    with known(coin(0.6)):
        yield tmp_path


def test_the_stage_decides_by_the_parameters_seeds_and_the_report_tells(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert claim.main([NAME]) == 0
    assert capsys.readouterr().out == f"{NAME}: reproduced (reproduced; again: reproduced)\n"
    folder = project / "runs/small/_claims" / NAME
    assert {file.name for file in folder.iterdir()} == {
        "cost.json",
        "figure.png",
        "metrics.json",
        "record.json",
        "values.csv",
        "verdict.json",
    }
    verdict = read_json(folder / "verdict.json")
    assert (verdict["first"], verdict["again"]) == (3, 50)
    assert report.main([]) == 0
    assert "✓ reproduced" in (project / "reports/small/latest/claims.md").read_text(encoding="utf-8")


def test_a_claim_that_breaks_is_a_failure_that_the_report_shows(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no throws")

    monkeypatch.setattr(sys.modules[f"ebmbench.claims.{NAME}"], "measure", broken)
    assert claim.main([NAME]) == 1
    assert report.main([]) == 0
    page = (project / "reports/small/latest/claims.md").read_text(encoding="utf-8")
    assert "failed" in page
    assert "no throws" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claims", "run", "coin_is_unfiar"], "did you mean 'coin_is_unfair'?"),
        (["claims", "run"], "found no name"),
    ],
)
def test_a_wrong_name_is_refused_in_one_line(
    project: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ebmbench(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_one_claim_alone_tells_its_verdict_and_leaves_the_project_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ebmbench(["claims", "run", NAME, "--first", "70"]) == 0
    assert "verdict: reproduced (seeds 70 … 75)" in capsys.readouterr().out
    assert (project / "work/claims" / NAME / "figure.png").is_file()
    assert not (project / "runs").exists()
    assert ebmbench(["claims", "list"]) == 0
    assert f"{NAME}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("datasets: [], methods: []", "datasets: [], methods: [dsm]", "claims, or datasets and methods, but not both"),
        (f"claims: [{NAME}]", "claims: []", "one or more datasets and methods, or claims"),
        (f"claims: [{NAME}]", "claims: [coin_is_fair]", "did you mean 'coin_is_unfair'"),
        ("first: 3", "first: -3", "claims.first: found -3"),
        ("again: 50", "again: 8", "claims.again: found 8 beside first 3, allowed: 6 seeds away or more"),
    ],
)
def test_a_suite_is_of_claims_or_of_cells(
    project: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "params.yaml").write_text(PARAMS.replace(old, new))
    assert claim.main([NAME]) == 2
    assert message in capsys.readouterr().err


def test_a_claim_that_left_the_suite_is_removed(project: Path) -> None:
    for name in (NAME, "gone"):
        write_record(record_file(project, "small", f"claim@{name}"), f"claim@{name}", {}, {})
    assert prune(project, load_params(project)) == ["gone"]
    assert [folder.name for folder in (project / "runs/small/_claims").iterdir()] == [NAME]


def test_a_claim_is_asked_for_by_its_name(project: Path) -> None:
    graph = {f"claim@{NAME}": [], "claim@other": [], "report": [f"claim@{NAME}", "claim@other"]}
    assert select_stages(project, graph, ["coin_*"]) == {f"claim@{NAME}": [], "report": [f"claim@{NAME}"]}
