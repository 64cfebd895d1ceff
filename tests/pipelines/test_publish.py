"""What a run leaves: the comparison with the last release, and the pages that Prefect shows."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ebmbench.report.results.table import to_frame, write_results
from pipelines.execution.signals import BY_USER
from pipelines.flows.artifacts import embed_figures
from pipelines.flows.publish import add_comparison, add_standings, name_run
from pipelines.outcome import BLOCKED, FAILED, RAN, RESTORED, SKIPPED, Outcome, Result, read_result, write_result
from tests.pipelines.test_flow import latest
from tests.report.compare.conftest import git

RAN_REPORT = Result(stages={"report": Outcome(RAN)}, report="reports/tiny/latest/report.md")
LINE = "since 0.2.0: 1 number got worse, 0 got better (reports/tiny/comparison.md)"


def put(root: Path, version: str, kl: list[float], **others: list[float]) -> None:
    """A report of one metric, of dsm and other methods."""
    place = {"suite": "tiny", "dataset": "rings", "status": "ok", "metric": "kl", "direction": "lower"}
    rows = [
        place | {"method": method, "seed": str(seed), "label": f"seed={seed}", "value": repr(one)}
        for method, values in {"dsm": kl, **others}.items()
        for seed, one in enumerate(values)
    ]
    folder = root / "reports" / "tiny" / version
    folder.mkdir(parents=True, exist_ok=True)
    write_results(to_frame(rows), folder / "results.csv")
    if version != "latest":
        (folder / "report.md").write_text("# Report\n", encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text("benchmark: {suite: tiny}\n", encoding="utf-8")
    put(tmp_path, "0.2.0", [0.1, 0.2, 0.3])
    put(tmp_path, "latest", [0.2, 0.41, 0.61])
    return tmp_path


def test_a_run_that_made_a_report_is_compared_and_the_result_keeps_it(project: Path) -> None:
    result = add_comparison(project, RAN_REPORT)
    assert (result.since, result.comparison) == (LINE, "reports/tiny/comparison.md")
    assert result.text.splitlines()[1:] == ["report: reports/tiny/latest/report.md", LINE]
    write_result(project, result)
    assert read_result(project) == result


@pytest.mark.parametrize(
    "result",
    [
        Result(),
        Result(stages={"report": Outcome(FAILED)}, exit_code=1),
        Result(stages={"report": Outcome(BLOCKED)}, exit_code=1),
        Result(stages={"report": Outcome(RAN)}, exit_code=130, stopped=BY_USER),
        Result(stages={"train@rings-dsm": Outcome(RAN)}),
    ],
)
def test_a_run_without_a_report_of_its_own_is_not_compared(project: Path, result: Result) -> None:
    assert add_comparison(project, result) == result
    assert not (project / "reports/tiny/comparison.md").exists()


def test_a_comparison_that_fails_is_mentioned_in_one_line_and_does_not_fail_the_run(project: Path) -> None:
    old = project / "reports/tiny/0.2.0/results.csv"
    old.write_text("no, results\n1, 2\n", encoding="utf-8")
    result = add_comparison(project, RAN_REPORT)
    assert result.exit_code == 0
    assert result.since is not None
    assert result.since.startswith("not compared with the last release: ")
    assert "0.2.0/results.csv: found no column suite" in result.since
    assert "\n" not in result.since
    assert result.comparison is None


def test_the_cells_that_ran_get_their_numbers_rank_and_the_best_of_the_others(project: Path) -> None:
    put(project, "latest", [0.2, 0.41, 0.61], nce=[0.1, 0.1, 0.3], cd=[0.5, 0.9, 0.9])
    cells = {f"rings/{name}": Outcome(kind) for name, kind in (("dsm", RAN), ("nce", SKIPPED), ("cd", RESTORED))}
    result = add_standings(project, replace(RAN_REPORT, cells=cells))
    assert result.standing_lines == [
        "dsm/rings KL 0.410, 2nd of 3; nce 0.100",
        "cd/rings KL 0.900, 3rd of 3; nce 0.100",
    ]
    assert result.standings[0].items() >= {"value": 0.41, "rank": 2, "methods": 3, "best": "nce"}.items()
    write_result(project, result)
    assert read_result(project) == result
    (project / "reports/tiny/latest/results.csv").write_text("no, results\n1, 2\n", encoding="utf-8")
    (line,) = add_standings(project, replace(RAN_REPORT, cells=cells)).standing_lines
    assert line.startswith("no numbers of the cells: ")


@pytest.mark.parametrize("cells", [{}, {"rings/dsm": Outcome(SKIPPED)}, {"rings/dsm": Outcome(FAILED)}])
def test_cells_that_did_not_run_get_no_line(project: Path, cells: dict[str, Outcome]) -> None:
    assert add_standings(project, replace(RAN_REPORT, cells=cells)).standings == ()


def test_without_a_release_nothing_is_said(project: Path) -> None:
    (project / "reports/tiny/0.2.0/report.md").unlink()
    assert add_comparison(project, RAN_REPORT) == RAN_REPORT


@pytest.mark.slow
def test_the_flow_prints_the_line_and_shows_the_page_in_prefect(done: Path, api: str) -> None:
    put(done, "0.2.0", [0.1, 0.2, 0.3])
    put(done, "latest", [0.2, 0.41, 0.61])
    (done / "code/dsm.py").write_text("# new\n")
    command = [sys.executable, "-m", "pipelines.benchmark", "--jobs", "2", "--root", str(done)]
    env = {**os.environ, "PREFECT_API_URL": api}
    first, again = (subprocess.run(command, env=env, capture_output=True, text=True, check=False) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-1] == LINE
    assert json.loads((done / "work/flow/outcomes.json").read_text())["since"] == LINE
    (artifact,) = [one for one in latest(api, "artifacts") if one["key"] == "benchmark-comparison"]
    assert artifact["data"] == (done / "reports/tiny/comparison.md").read_text(encoding="utf-8")
    assert artifact["description"] == LINE
    assert again.stdout == "nothing to do: everything is up to date\nreport: reports/tiny/latest/report.md\n"


def test_a_flow_run_is_named_after_suite_and_commit(project: Path) -> None:
    assert name_run(project, "HEAD", "large") == "large"
    assert name_run(project, "HEAD", None) == "benchmark"
    git(project, "init", "--quiet")
    git(project, "add", "params.yaml")
    git(project, "commit", "--quiet", "--message", "first")
    commit = git(project, "rev-parse", "HEAD")[:7]
    assert name_run(project, "HEAD", "large") == f"large-{commit}"
    (project / "params.yaml").unlink()
    assert name_run(project, "HEAD", None) == f"tiny-{commit}"
    assert name_run(project, "no-such-revision", "large") == "large"


PAGE = Path(__file__).parents[2] / "reports/quick/latest/report.md"


def test_figures_are_put_into_the_page_while_they_fit_and_else_named(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(b"123456")
    (tmp_path / "curve.svg").write_bytes(b"12345")
    page = "before\n\n![a map](map.png)\n![a curve](curve.svg)\n![gone](gone.png)\n\n[a link](x.md)\n"
    map_, curve = "![a map](data:image/png;base64,MTIzNDU2)", "![a curve](data:image/svg+xml;base64,MTIzNDU=)"
    for room, shown in (
        (11, [map_, curve]),
        (10, [map_, "*(figure: a curve)*"]),
        (5, ["*(figure: a map)*", curve]),
    ):
        text = embed_figures(page, tmp_path, room)
        assert text == "\n".join(["before", "", *shown, "*(figure: gone)*", "", "[a link](x.md)", ""])


def test_a_real_report_keeps_all_its_lines_shows_a_figure_and_names_no_file_that_prefect_lacks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = embed_figures(text, PAGE.parent)
    assert text.count("](figures/") > 3
    assert "](figures/" not in shown
    assert "](data:image/" in shown
    assert len(shown) < len(text) + 500_000
    assert shown.count("\n") == text.count("\n")
