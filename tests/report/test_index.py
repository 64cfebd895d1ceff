"""The page of all reports: a leaderboard from their numbers, the report to quote, and where every report is."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.cli.main import main
from ebmbench.report import catalogue
from ebmbench.report.catalogue import list_releases
from ebmbench.report.index import Report as IndexReport
from ebmbench.report.index import choose_reports, render_index, write_index
from ebmbench.report.release import release
from ebmbench.report.results.table import load_results, write_results
from tests.report.suite import PARAMS


@pytest.fixture
def project(report: Path, tmp_path: Path) -> Path:
    """A project whose suite `tiny` has a report."""
    shutil.copytree(report, tmp_path / "reports/tiny/latest")
    for folder in (tmp_path, tmp_path / "reports/tiny/latest"):
        (folder / "params.yaml").write_text(json.dumps(PARAMS), encoding="utf-8")
    return tmp_path


def cells(project: Path, row: str, table: str = "median KL ↓") -> list[str]:
    """A row of the leaderboard."""
    text = render_index(project).partition(f"| {table} |")[2]
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("| ").split(" | ")][1:]


def copy_suite(project: Path, suite: str, **changes: float) -> Path:
    """Another suite with the numbers of `tiny`; `changes` are factors of metrics."""
    folder = project / "reports" / suite / "latest"
    shutil.copytree(project / "reports/tiny/latest", folder)
    frame = load_results(folder)
    for metric, factor in changes.items():
        frame.loc[frame["metric"] == metric, "value"] *= factor
    write_results(frame, folder / "results.csv")
    return folder


def chosen(project: Path) -> dict[str, str]:
    reports = [IndexReport(project, folder) for folder in sorted((project / "reports").glob("*/latest"))]
    return {dataset: report.suite for dataset, report in choose_reports(reports).items()}


def test_a_cell_is_the_median_of_the_main_metric_with_a_link_and_the_mark_of_its_verdict(project: Path) -> None:
    frame = load_results(project / "reports/tiny/latest")
    rows = frame[(frame["dataset"] == "eight_gaussians") & (frame["method"] == "mle") & (frame["metric"] == "kl")]
    first = cells(project, "mle")[0]
    shown = re.fullmatch(r"\[\**([\d.]+)\**(?: \(\d/\d\))?\]\(tiny/latest/report\.md\)( [✓◐✗])?", first)
    assert shown is not None, first
    assert float(shown[1]) == pytest.approx(float(np.median(rows["value"].dropna())), abs=5e-4)


@pytest.mark.parametrize(
    ("words", "mark"), [("ok", "✓"), ("miscalibrated", "✗"), ("unmixed", "◐"), ("not judged", ""), ("", "")]
)
def test_the_mark_is_that_of_the_worst_run(project: Path, words: str, mark: str) -> None:
    folder = project / "reports/tiny/latest"
    frame = load_results(folder)
    frame["density_verdict"] = ""
    frame.loc[frame["verdict"] != "", "verdict"] = "ok" if words else ""
    frame.loc[(frame["method"] == "mle") & (frame["seed"] == 1), "verdict"] = words
    write_results(frame, folder / "results.csv")
    assert cells(project, "mle")[0].partition(") ")[2] == mark


def test_bold_is_as_in_the_report(project: Path) -> None:
    text = (project / "reports/tiny/latest/report.md").read_text(encoding="utf-8")
    glance = re.search(r"(?m)^\| median KL.*(?:\n\|.*)+", text)[0].splitlines()[2:]
    for line in glance:
        name, *numbers = [cell.strip() for cell in line.strip("| ").split(" | ")]
        assert [cell.startswith("[**") for cell in cells(project, name)] == [one.startswith("**") for one in numbers]


def test_the_report_to_quote_has_the_larger_budget_then_more_seeds_then_more_methods(project: Path) -> None:
    larger = copy_suite(project, "larger", passes=2.0)
    nearly = copy_suite(project, "nearly", passes=1.001)
    assert set(chosen(project).values()) == {"larger"}
    shutil.rmtree(larger.parent)
    frame = load_results(nearly)
    write_results(frame[frame["method"] != "adance"], nearly / "results.csv")
    assert set(chosen(project).values()) == {"tiny"}  # a last step makes no larger budget
    frame = load_results(project / "reports/tiny/latest")
    write_results(frame[frame["seed"] != 2], project / "reports/tiny/latest/results.csv")
    assert set(chosen(project).values()) == {"nearly"}
    assert "[tiny](tiny/latest/report.md) |" in render_index(project)  # it is named beside


def test_a_report_that_is_behind_the_project_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    (project / "pyproject.toml").write_text('[project]\nversion = "0.9.0"\n', encoding="utf-8")
    git("init", "--quiet")
    git("add", "pyproject.toml")
    git("commit", "--quiet", "--message", "first")
    page = project / "reports/tiny/latest/report.md"
    commit = f"| commit | {git('rev-parse', 'HEAD')} |\n"
    page.write_text(commit, encoding="utf-8")
    monkeypatch.setattr(catalogue, "current_version", lambda: "0.9.0")
    assert "[tiny](tiny/latest/report.md) by 0.9.0 |" in render_index(project)
    monkeypatch.setattr(catalogue, "current_version", lambda: "0.10.0")
    assert "by 0.9.0, *behind 0.10.0*" in render_index(project)
    page.write_text(
        f"ebmbench 0.10.0 · no Git commit · suite `tiny` · full report: 1 of 1 cells\n{commit}", encoding="utf-8"
    )  # what a report says itself comes first
    assert "behind" not in render_index(project)
    page.write_text("nothing", encoding="utf-8")
    assert "[tiny](tiny/latest/report.md) unknown |" in render_index(project)


def test_images_have_a_column_for_short_and_one_for_long_runs(image_report: Path, tmp_path: Path) -> None:
    shutil.copytree(image_report, tmp_path / "reports/pictures/latest")
    header = render_index(tmp_path).partition("| median FID ratio ↓ |")[2].partition("\n")[0]
    assert re.findall(r"\[`(\w+)`, (\w+)\]", header)[:2] == [("digits", "short"), ("digits", "long")]


def test_every_suite_is_listed_with_its_releases_newest_first(project: Path) -> None:
    shutil.copytree(project / "reports/tiny/latest", project / "reports/other/latest")
    (project / "reports/notes").mkdir()
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        release(project, "tiny", version)
    page = (project / "reports/README.md").read_text(encoding="utf-8").partition("## All reports")[2]
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    released = " · ".join(f"[{version}](tiny/{version}/report.md)" for version in ("0.10.0", "0.9.0", "0.2.0"))
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("| `other`", "[latest](other/latest/report.md)", "– |"),
        ("| `tiny`", "[latest](tiny/latest/report.md)", f"{released} |"),
    ]


def test_the_newest_release_is_found_by_number_and_a_candidate_is_older_than_its_release(project: Path) -> None:
    for version in ("0.9.0", "0.10.0rc1", "0.10.0", "0.10.0a2", "0.10.0.post1", "v0.2"):
        release(project, "tiny", version)
    assert list_releases(project / "reports/tiny") == [
        "0.10.0.post1",
        "0.10.0",
        "0.10.0rc1",
        "0.10.0a2",
        "0.9.0",
        "v0.2",
    ]


def test_the_command_writes_the_page_also_where_there_is_no_report_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").touch()
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["report", "index"]) == 0
    assert capsys.readouterr().out == "reports/README.md\n"
    assert write_index(tmp_path).read_text(encoding="utf-8").startswith("# Reports\n")


def test_the_list_says_from_which_commit_on_what_and_how_long(project: Path) -> None:
    page = project / "reports/tiny/latest/report.md"
    text = re.sub(r"(?m)^\| (commit|processor) \| .*\n", "", page.read_text(encoding="utf-8"))
    page.write_text(f"{text}\n| commit | {'c0ffee' * 6}c0ff |\n| processor | Abacus 3 |\n")
    frame = load_results(project / "reports/tiny/latest")
    for column, seconds in {"train": 3600.0, "sample": 1800.0, "evaluate": 0.0}.items():
        frame[f"seconds_{column}"] = seconds
    runs = frame[frame["status"] != "failed"].drop_duplicates(["dataset", "method", "label"])
    lost = frame.iloc[-1:].assign(method="dsm", label="none", status="not run")
    write_results(pd.concat([frame, lost]), project / "reports/tiny/latest/results.csv")  # no run
    own = runs[~runs["method"].isin(["oracle", "gaussian", "noisy"])]
    row = next(line for line in render_index(project).splitlines() if line.startswith("| `tiny` |"))
    assert row.split(" | ")[3:6] == ["`c0ffeec`", "Abacus 3", f"{len(own)} runs, {1.5 * len(runs):.1f} h"]
