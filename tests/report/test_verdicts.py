"""Verdicts: counted in every table, explained in one, with reasons that are said once; and curves of training."""

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.report.build import build
from ebmbench.report.figures import cost
from ebmbench.report.results.curves import COLUMNS
from ebmbench.report.results.table import load_results
from ebmbench.report.results.verdicts import VERDICTS, describe_verdicts
from ebmbench.report.text.words import merge_sentences
from tests.report.fixtures import DrawOnly
from tests.report.printed import rows_of, table_of, values_of
from tests.report.suite import write_suite


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ok"] * 3, "ok"),
        (["diverged", "ok", "diverged"], "1/3 ok, 2/3 diverged"),
        (["skipped", "unmixed", "miscalibrated"], "1/3 unmixed, 1/3 miscalibrated, 1/3 skipped"),
        (["sampler limit", "not judged", "ok"], "1/3 ok, 1/3 not judged, 1/3 sampler limit"),
        (["failed"], "failed"),
        (["stale"], "stale"),
    ],
)
def test_a_verdict_counts_runs_of_each_word_best_first(words: list[str], expected: str) -> None:
    own = dict.fromkeys(("unmixed", "miscalibrated", "sampler limit", "not judged"), "ok")
    twice = [(f"seed={seed}", own.get(word, word), word) for seed, word in enumerate(words) for _ in range(2)]
    assert describe_verdicts(runs(twice)) == expected


def test_the_first_paragraph_counts_both_sides_and_what_was_not_judged(report: Path) -> None:
    results = load_results(report)
    ended = results[results["steps"].notna() & (results["status"] == "ok")].drop_duplicates(
        ["dataset", "method", "label"]
    )
    text = (report / "report.md").read_text("utf-8").partition("[Health]")[2].partition("\n")[0]
    for side in ("density", "sampler"):
        told = text.partition(f" {side} ")[2].partition(";")[0].partition(".")[0]
        counted = {word: str(count) for word, count in ended[f"{side}_verdict"].value_counts().items()}
        assert {word: count for count, _, word in (one.partition(" ") for one in told.split(", "))} == counted
        assert "not judged" in counted


def test_reports_without_verdicts_count_by_status() -> None:
    rows = [("a", "ok", ""), ("b", "diverged", "")]
    assert describe_verdicts(runs(rows)) == "1/2 ok, 1/2 diverged"


def test_restarts_of_all_runs_stand_beside_their_verdicts() -> None:
    rows = [("a", "ok", "ok"), ("a", "ok", "ok"), ("b", "ok", "ok"), ("c", "diverged", "diverged")]
    assert describe_verdicts(runs(rows, [1, 1, None, 2])) == "2/3 ok, 1/3 diverged, 3 restarts"
    assert describe_verdicts(runs(rows[:1], [1])) == "ok, 1 restart"


def runs(rows: list[tuple[str, str, str]], restarts: list[int | None] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["label", "status", "verdict"])
    return frame.assign(restarts=pd.Series(restarts or [None] * len(rows), dtype="Int64"))


def test_reasons_that_differ_in_numbers_are_said_once_with_their_range() -> None:
    said = ["R̂ is 1.5", "no grid", "R̂ is 12", "R̂ is 1.5", "1.2e-3 of 10", "5e-4 of 10"]
    assert merge_sentences(said) == ["R̂ is 1.5 to 12", "no grid", "5e-4 to 1.2e-3 of 10"]
    assert merge_sentences(["x is -3", "x is -7"]) == ["x is -7 to -3"]


def test_names_with_digits_are_no_numbers() -> None:
    assert merge_sentences(["x1 is 3", "x2 is 3"]) == ["x1 is 3", "x2 is 3"]


def test_the_table_of_health_has_every_method_once_with_its_verdicts_and_reasons(report: Path) -> None:
    results = load_results(report)
    _, *rows = table_of(report, "datasets", "methods", "verdict", "density", "sampler")
    cells = results[~results["method"].isin(["oracle", "gaussian"])].drop_duplicates(["dataset", "method", "settings"])
    named = 0
    for sets, names, words, density, sampler, why in rows:
        for dataset, name in itertools.product(sets.split(", "), names.split(", ")):
            part = rows_of(results, dataset.strip("`"), name)
            runs = part.drop_duplicates("label")
            assert words == "failed" or counts_of(words) == shares(runs["verdict"])
            ended = runs[runs["status"] == "ok"]
            for text, column in ((density, "density_verdict"), (sampler, "sampler_verdict")):
                assert (text == "–" and ended.empty) or counts_of(text) == shares(ended[column])
            assert (why == "–") == (not runs["verdict_reason"].any())
            named += 1
    assert named == len(cells) > len(rows)


def shares(words: pd.Series) -> dict[str, str]:
    """How many of the runs have each word; no number if all have the same."""
    counts = words.value_counts()
    return {word: f"{count}/{len(words)}" if len(counts) > 1 else "" for word, count in counts.items()}


def counts_of(text: str) -> dict[str, str]:
    """`2/3 ok, 1/3 sampler limit` by word; `ok` alone has no number."""
    parts = [one.partition(" ") if "/" in one else ("", "", one) for one in text.split(", ")]
    return {word: share for share, _, word in parts}


def test_the_limits_of_the_suite_are_named_and_the_protocol_explains_every_word(
    tmp_path: Path, params: dict[str, Any], text_only: None
) -> None:
    own = params | {"metrics": {"health": {"r_hat": 1.07}}}
    text = (build(write_suite(tmp_path, own), own) / "report.md").read_text("utf-8")
    section = text.partition("## Health of the runs")[2].partition("\n|")[0]
    assert "limits here: R̂ above 1.07, fewer than 400 effective draws" in section
    page = (Path(__file__).parents[2] / "docs/protocol.md").read_text("utf-8").partition("## Verdicts")[2]
    assert [word for word in VERDICTS if f"`{word}`" not in page.partition("\n## ")[0]] == []


def test_curves_hold_every_moment_with_its_passes_and_seconds(report: Path) -> None:
    curves = pd.read_csv(report / "curves.csv", keep_default_na=False, na_values={"value": [""], "seconds": [""]})
    assert list(curves) == list(COLUMNS)
    run = curves[(curves["dataset"] == "eight_gaussians") & (curves["method"] == "mle") & (curves["seed"] == 1)]
    assert run["passes"].tolist() == [2000, 10_000, 20_000]
    assert run["seconds"].tolist() == pytest.approx([0.3, 1.5, 3.0])
    assert run["value"].is_monotonic_decreasing
    results = load_results(report)
    (end,) = values_of(rows_of(results, "eight_gaussians", "mle").query("seed == 1"), "kl")
    assert run["value"].iloc[-1] == end


def test_without_snapshots_there_is_no_figure_of_cost_but_a_table(
    tmp_path: Path, params: dict[str, Any], draw_only: DrawOnly
) -> None:
    draw_only(cost)
    root = write_suite(tmp_path)
    for file in root.rglob("curve.csv"):
        file.unlink()
    out = build(root, params)
    assert not (out / "curves.csv").exists()
    assert not list((out / "figures").glob("cost*"))
    assert table_of(out, "dataset", "method", "10⁹ FLOPs")
