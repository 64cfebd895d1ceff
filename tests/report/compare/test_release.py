"""The latest report beside the newest release: a page, one line, and nothing without a release."""

import shutil
from pathlib import Path

import pytest

from ebmbench.report.compare.page import compare_with_release
from ebmbench.report.results.table import load_results, to_frame, write_results
from tests.report.compare.conftest import print_comparison, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Version 1.0, then half the budget."""
    write(tmp_path, 100, kl=[0.10, 0.20, 0.30], fisher=[1.0, 2.0, 3.0])
    shutil.copytree(tmp_path / "reports/small/latest", tmp_path / "reports/small/1.0")
    write(tmp_path, 50, kl=[0.20, 0.41, 0.61], fisher=[0.9, 1.8, 2.71])
    return tmp_path


def test_the_line_counts_and_the_page_tells_what_the_command_prints(project: Path) -> None:
    since = compare_with_release(project, "small")
    assert since is not None
    assert since.line == "since 1.0: 1 number got worse, 1 got better (reports/small/comparison.md)"
    page = (project / since.path).read_text(encoding="utf-8")
    assert "from `reports/small/1.0` to `workspace`" in page
    assert page == print_comparison(project, "reports/small/1.0")


def test_the_newest_release_counts(project: Path) -> None:
    shutil.copytree(project / "reports/small/latest", project / "reports/small/1.10")
    shutil.copytree(project / "reports/small/1.0", project / "reports/small/1.9")
    since = compare_with_release(project, "small")
    assert since is not None
    assert since.line == "since 1.10: 0 numbers got worse, 0 got better (reports/small/comparison.md)"


def test_runs_without_numbers_are_in_the_line_too(project: Path) -> None:
    """A method that fails has no number left that could get worse."""
    rows = [{"suite": "small", "dataset": "two_moons", "method": "dsm", "status": "failed"}]
    write_results(to_frame(rows), project / "reports/small/latest/results.csv")
    since = compare_with_release(project, "small")
    assert since is not None
    assert since.line.startswith("since 1.0: 0 numbers got worse, 0 got better, runs of 1 cell ended otherwise (")


def test_without_a_release_there_is_neither_line_nor_an_old_page(project: Path) -> None:
    compare_with_release(project, "small")
    shutil.rmtree(project / "reports/small/1.0")
    assert compare_with_release(project, "small") is None
    assert not (project / "reports/small/comparison.md").exists()


def test_the_reports_themselves_are_left_alone(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    compare_with_release(project, "small")
    after = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    assert {file.name for file in after.keys() - before.keys()} == {"comparison.md"}
    assert before.items() <= after.items()
    assert len(load_results(project / "reports/small/latest")) == 6
