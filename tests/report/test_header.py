"""The first line of a report, and the place of a report that is not full: beside the full one, never in its stead."""

import re
import shutil
import subprocess
from copy import deepcopy
from pathlib import Path

import pytest

from ebmbench.report.build import build
from ebmbench.report.catalogue import list_releases
from ebmbench.report.results.frame import collect
from ebmbench.report.results.header import Header, is_full, report_version
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.workspace.files import write_json
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import current_report
from tests.report.fixtures import Params

SHA = "3f2a91c" + "0" * 33
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (
            Header("0.9.0", "quick", 14, SHA, "2026-11-18"),
            "ebmbench 0.9.0 · commit `3f2a91c` of 2026-11-18 · suite `quick` · full report: 14 of 14 cells",
        ),
        (
            Header("0.9.0", "quick", 14, f"{SHA} (with uncommitted changes)", "2026-11-18", [("not run", 12)]),
            "ebmbench 0.9.0 · commit `3f2a91c` of 2026-11-18 (with uncommitted changes) · suite `quick` · "
            "partial report: 2 of 14 cells, 12 not run",
        ),
        (
            Header("0.9.0", "quick", 2, "none (not a Git checkout)", edits=["a.b", "c", "d", "e"], noun="claim"),
            "ebmbench 0.9.0 · no Git commit · suite `quick` · edited report: 2 of 2 claims; edited, not as in "
            "`suites/quick.yaml`: `a.b`, `c`, `d` and 1 more",
        ),
    ],
)
def test_the_line_says_all_and_is_read_back(header: Header, line: str, tmp_path: Path) -> None:
    assert header.line == line
    (tmp_path / "report.md").write_text(f"# A title\n\n{line}\n\nText.\n", encoding="utf-8")
    assert report_version(tmp_path) == "0.9.0"
    assert is_full(tmp_path) == (header.extent == "full")


def test_an_older_report_says_no_version_and_is_protected_all_the_same(tmp_path: Path) -> None:
    assert not is_full(tmp_path)
    (tmp_path / "claims.md").write_text("# ebmbench: claims of the literature\n\n19 claims.\n", encoding="utf-8")
    assert report_version(tmp_path) == ""
    assert is_full(tmp_path)


def test_the_line_is_the_first_of_the_report_and_names_the_commit(root: Path, params: Params, text_only: None) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    dated = ["-c", "commit.gpgsign=false", "commit", "-qm", "x", "--date", "2020-01-02T00:00:00"]
    for words in (["init", "-q"], ["add", "."], [*identity, *dated]):
        subprocess.run(["git", *words], cwd=root, check=True)
    line = (build(root, params) / "report.md").read_text(encoding="utf-8").splitlines()[2]
    commit = ask_git(root, "rev-parse", "HEAD")[:7]
    assert re.fullmatch(
        rf"ebmbench \S+ · commit `{commit}` of \d{{4}}-\d\d-\d\d · suite `tiny` · full report: 6 of 6 cells", line
    )


def test_a_partial_or_edited_report_is_a_draft_until_a_full_one_follows(
    root: Path, params: Params, text_only: None
) -> None:
    suites, latest, draft = root / "suites", root / "reports/tiny/latest", root / "reports/tiny/draft"
    params = params | {"datasets": {}}
    write_json(root / "params.yaml", params)
    assert build(root, params) == latest
    before = {file: file.read_bytes() for file in latest.rglob("*") if file.is_file()}

    shutil.move(root / "runs/tiny/two_moons/mle", root / "mle")
    assert build(root, params) == draft
    assert "partial report: 5 of 6 cells, 1 not run" in (draft / "report.md").read_text(encoding="utf-8")
    assert set(load_results(draft)["status"]) == {"ok", "failed", "not run"}
    shutil.move(root / "mle", root / "runs/tiny/two_moons/mle")

    write_json(suites / "defaults.yaml", {"benchmark": params["benchmark"], "datasets": {}, "methods": {}})
    write_json(suites / "tiny.yaml", {"methods": deepcopy(params["methods"]) | {"ncsn": {"sigma": 7}}})
    assert build(root, params) == draft == current_report(root, "tiny")
    assert "`suites/tiny.yaml`: `methods.ncsn.sigma`" in (draft / "report.md").read_text(encoding="utf-8")
    assert {file: file.read_bytes() for file in latest.rglob("*") if file.is_file()} == before
    assert list_releases(root / "reports/tiny") == []

    write_json(root / "params.yaml", params | {"resources": {"mle": {"gpus": 1}}})
    assert current_report(root, "tiny") == latest  # the draft is of other parameters
    (draft / "notes.md").write_text("mine")
    write_json(suites / "tiny.yaml", {"methods": params["methods"]})
    assert build(root, params | {"resources": {"mle": {"gpus": 1}}}) == latest
    assert [file.name for file in draft.iterdir()] == ["notes.md"]


def test_a_first_report_is_the_latest_though_it_is_partial(root: Path, params: Params, text_only: None) -> None:
    shutil.rmtree(root / "runs/tiny/two_moons/mle")
    for _ in range(2):
        assert build(root, params) == root / "reports/tiny/latest"
    assert not (root / "reports/tiny/draft").exists()


def test_baselines_that_were_not_run_make_a_report_partial(root: Path, params: Params) -> None:
    shutil.rmtree(root / "runs/tiny/two_moons/_baselines")
    header = Results(collect(root, params), params).header
    assert header.extent == "partial"
    assert header.line.endswith("partial report: 6 of 7 cells, 1 not run")


@pytest.mark.parametrize("report", sorted((ROOT / "reports").glob("*/latest")), ids=lambda path: path.parent.name)
def test_a_committed_report_by_code_that_writes_the_line_has_it(report: Path) -> None:
    page = next(report / name for name in ("report.md", "claims.md") if (report / name).is_file())
    found = re.search(r"^\| commit \| ([0-9a-f]{40})", page.read_text(encoding="utf-8"), re.MULTILINE)
    file = "ebmbench/report/sections/header.py"
    if found and ask_git(ROOT, "ls-tree", "--name-only", found[1], file) == file:
        assert report_version(report)
        assert is_full(report)
