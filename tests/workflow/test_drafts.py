"""A full report is protected: partial and edited runs are drafts beside it, with plain DVC and with the flow."""

import subprocess

import pandas as pd
import pytest

from ebmbench.report.results.header import is_full, report_version
from tests.workflow.conftest import Clone, make_clone

pytestmark = pytest.mark.slow
SUITE = """\
# Two cells that take seconds.
benchmark:
  suite: tiny
  seeds: [0]
  datasets: [two_moons, eight_gaussians]
  methods: [dsm]
  metrics: [kl]
  baselines: [gaussian]
training: {budget: 5_000, rows: 5}
sampling: {chains: 200, sampler: {steps: 3}}
metrics: {cells: 64}
methods: {dsm: {sigma: 0.1}}
"""
LATEST, DRAFT = "reports/tiny/latest", "reports/tiny/draft"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, server: str) -> Clone:
    return make_clone(tmp_path_factory.mktemp("drafts"), server, SUITE)


def git(clone: Clone, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    return subprocess.run(["git", *identity, *words], cwd=clone.root, capture_output=True, text=True, check=True).stdout


def text(clone: Clone, folder: str) -> str:
    return (clone.root / folder / "report.md").read_text(encoding="utf-8")


def statuses(clone: Clone, folder: str) -> set[tuple[str, str, str]]:
    frame = pd.read_csv(clone.root / folder / "results.csv")
    return set(frame[["dataset", "method", "status"]].itertuples(index=False, name=None))


def test_a_first_partial_run_has_its_floor_and_says_what_was_not_run(clone: Clone) -> None:
    said = clone.run("ebmbench", "run", "--only", "dsm/two_moons", "--jobs", "2")
    assert f"report: {LATEST}/report.md" in said  # there is no full report that it could replace
    assert statuses(clone, LATEST) == {
        ("two_moons", "gaussian", "ok"),
        ("two_moons", "dsm", "ok"),
        ("eight_gaussians", "_baselines", "not run"),
        ("eight_gaussians", "dsm", "not run"),
    }
    assert "partial report: 1 of 3 cells, 2 not run" in text(clone, LATEST)
    assert "failed" not in text(clone, LATEST)
    assert "eight_gaussians" not in "".join(path.name for path in (clone.root / LATEST / "figures").iterdir())
    assert "not run" in clone.run("ebmbench", "report", "release", "1.0", code=2)


def test_dvc_alone_makes_the_report_full(clone: Clone) -> None:
    clone.run("dvc", "repro", "-q")
    assert {status for _, _, status in statuses(clone, LATEST)} == {"ok"}
    assert "· suite `tiny` · full report: 2 of 2 cells\n" in text(clone, LATEST)
    assert is_full(clone.root / LATEST)
    assert report_version(clone.root / LATEST)
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "the full report")


def test_an_edited_run_is_a_draft_and_leaves_the_committed_report(clone: Clone) -> None:
    clone.edit("params.yaml", "sigma: 0.1", "sigma: [0.1, 0.3]")
    said = clone.run("ebmbench", "run", "--only", "dsm/two_moons", "--jobs", "2")
    assert f"report: {DRAFT}/report.md (partial or edited: {LATEST} stays as it was)" in said
    assert git(clone, "status", "--porcelain", "reports") == ""
    assert ("eight_gaussians", "dsm", "stale") in statuses(clone, DRAFT)
    page = text(clone, DRAFT)
    assert "partial report: 1 of 2 cells, 1 stale; edited, not as in `suites/tiny.yaml`: `methods.dsm.sigma`" in page
    rows = [line for line in page.splitlines() if line.startswith("| dsm sigma=")][:2]
    assert [row.endswith("| – (stale) |") for row in rows] == [True, True]
    assert "report" not in clone.stale()
    assert "found other parameters" in clone.run("ebmbench", "report", "release", "1.0", code=2)


def test_without_the_edit_the_report_is_the_latest_again(clone: Clone) -> None:
    git(clone, "checkout", "-q", "params.yaml")
    said = clone.run("ebmbench", "run", "--jobs", "2")
    assert f"report: {LATEST}/report.md\n" in said
    assert not (clone.root / DRAFT).exists()
    assert git(clone, "diff", "--name-only", "--", f"{LATEST}/results.csv") == ""
