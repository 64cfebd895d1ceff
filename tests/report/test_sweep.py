"""Sweeps of any setting: every number recomputed from `results.csv`, tendencies over runs, and what was published."""

from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from ebmbench.report.figures import sweep as figure
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.sections import sweep
from ebmbench.report.statistics.sweeps import describe_tendency, find_sweeps
from tests.report.printed import expect, rows_of, table_of, values_of

SHORT = {"FID": "fid", "FID ratio": "fid_ratio", "IS": "inception_score", "KL": "kl", "Fisher": "fisher"}
SHORT |= {"off-support": "off_support"}


@pytest.mark.parametrize(("of", "published"), [("report", 0), ("image_report", 2)])
def test_every_number_of_a_sweep_is_in_the_results(of: str, published: int, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(of)
    results, (header, *rows) = load_results(report), table_of(report, "data", "metric")
    assert len(rows) > published
    for data, metric, *texts in rows[published:]:
        dataset, _, kind = data.replace("`", "").partition(", ")
        for column, text in zip(header[2:], texts, strict=True):
            runs = rows_of(results, dataset, f"adance {column.replace(' ', '')}")
            expect(text, values_of(runs, SHORT[metric[:-2]], kind or None))


def test_published_numbers_stand_beside_a_sweep_of_their_metrics_only(report: Path, image_report: Path) -> None:
    header, fid, score, *_ = table_of(image_report, "data", "metric")
    assert header[2:] == ["interval = 1", "interval = 5", "interval = 20", "interval = 50"]
    assert fid[2:] == ["147.82", "157.17", "–", "310.54"]
    assert score[2:] == ["4.03", "3.74", "–", "2.61"]
    assert "Xu 2022" not in sweep.text(Results(load_results(report)))


def test_whether_a_metric_rises_is_computed_over_runs(image_report: Path) -> None:
    results = load_results(image_report)
    runs = results[(results["method"] == "adance") & (results["metric"] == "fid") & (results["samples"] == "buffer")]
    intervals = [int(settings.removeprefix("interval=")) for settings in runs["settings"]]
    rho = stats.spearmanr(intervals, runs["value"]).statistic
    rises = f"buffer samples: FID rises with `interval` (Spearman's ρ = {rho:.2f} over 9 runs"
    assert rises in (image_report / "report.md").read_text(encoding="utf-8")
    falling = results.assign(value=results["value"].where(results["metric"] != "fid", -results["value"]))
    assert "buffer samples: FID falls with `interval` (Spearman's ρ = −" in sweep.text(Results(falling))


@pytest.mark.parametrize(
    ("pairs", "start"),
    [
        ([("1", 3.0), ("1", 9.0), ("5", 4.0), ("5", 8.0)], "no clear tendency of KL with `k`"),
        ([("1", 3.0), ("5", 9.0)], "too few runs (2)"),
        ([("hmc", 3.0), ("mala", 9.0), ("mala", 7.0)], ""),
    ],
)
def test_a_tendency_needs_numbers_enough_of_them_and_an_effect(pairs: list[tuple[str, float]], start: str) -> None:
    found = describe_tendency("k", "kl", pairs, "runs")
    assert found.startswith(start)
    assert bool(found) == bool(start)


def renamed(report: Path, five: str, ten: str) -> pd.DataFrame:
    """The results as if other settings of `mle` had been swept than `interval` of `adance`."""
    results = load_results(report)
    results["settings"] = results["settings"].replace({"interval=5": five, "interval=10": ten})
    return results[results["method"] != "mle"].replace({"method": {"adance": "mle"}})


@pytest.mark.parametrize(
    ("five", "ten", "setting", "values", "scale"),
    [
        ("sigma=0.5", "sigma=0.05", "sigma", ["0.05", "0.5"], "log"),
        ("penalty=1.0", "penalty=0.0", "penalty", ["0.0", "1.0"], "linear"),
        ("init=noise", "init=data", "init", ["noise", "data"], "linear"),
        ("a=1, b=2", "a=1, b=3", "a, b", ["a=1, b=2", "a=1, b=3"], "linear"),
    ],
)
def test_any_setting_of_any_method_can_be_swept(
    report: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    five: str,
    ten: str,
    setting: str,
    values: list[str],
    scale: str,
) -> None:
    results, drawn = Results(renamed(report, five, ten)), []
    (found,) = find_sweeps(results)["mle", setting]
    assert list(found.runs) == values
    assert f"### mle: {setting}" in sweep.text(results)
    monkeypatch.setattr(figure, "save", lambda made, file: drawn.append(made))
    with apply_theme():
        figure.draw(results, tmp_path)
    (axis,) = drawn[0].axes
    drawn[0].canvas.draw()
    assert axis.get_xscale() == scale
    assert [label.get_text() for label in axis.get_xticklabels()] == values
