"""The first table: every number recomputed from `results.csv`, and nothing hidden behind a median."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.sections import answer, glance
from ebmbench.report.sections.glance import PARTIAL
from ebmbench.report.statistics.contests import find_contests
from tests.report.fixtures import Params
from tests.report.printed import Table, expect_median, rows_of, table_of, values_of


def check(table: Table, results: pd.DataFrame) -> int:
    """Compare every number of the table with the results; returns how many there were."""
    (_, *sets), *rows = table
    found = 0
    for name, *texts in rows:
        for dataset, text in zip(sets, texts, strict=True):
            values = values_of(rows_of(results, dataset.strip("`"), name), "kl")
            expect_median(text, values)
            found += bool(values)
    return found


def cells(frame: pd.DataFrame) -> dict[str, list[str]]:
    """The cells of each row of a table made from a frame."""
    lines = [line.split("|")[1:-1] for line in glance.text(Results(frame)).splitlines() if line.startswith("|")]
    return {row[0].strip(): [text.strip() for text in row[1:]] for row in lines[2:]}


def test_every_number_at_a_glance_is_in_the_results(report: Path) -> None:
    table = table_of(report, "median KL ↓")
    assert table[0][1:] == ["`eight_gaussians`", "`two_moons`"]
    assert check(table, load_results(report)) == 8


def test_a_wrong_number_at_a_glance_would_be_noticed(report: Path) -> None:
    table = table_of(report, "median KL ↓")
    assert table[3][1].endswith("–0.0587)**")
    table[3][1] = table[3][1].replace("–0.0587)", "–0.0597)")
    with pytest.raises(AssertionError):
        check(table, load_results(report))


def test_the_glance_comes_first_and_says_what_it_is(report: Path) -> None:
    text = (report / "report.md").read_text(encoding="utf-8")
    assert text.index("## At a glance") < text.index("## Main table")
    section = text.split("## At a glance")[1].split("##")[0]
    assert all(word in section for word in ("median", "smaller is better", "Means with intervals"))


def test_rows_are_the_oracle_first_then_methods_and_a_failed_sweep_has_no_row_of_its_own(
    root: Path, params: Params
) -> None:
    rows = ["*oracle*", "*gaussian*", "mle", "adance interval=5", "adance interval=10", "ncsn"]
    frame = collect(root, params)
    assert list(cells(frame)) == rows
    backwards = pd.concat([part for _, part in frame.groupby("dataset", sort=True)][::-1])
    assert list(cells(backwards)) == rows


def test_runs_that_did_not_end_well_are_not_hidden(root: Path, params: Params) -> None:
    shown = cells(collect(root, params))
    assert shown["mle"][1] == "0.0848\u00a0(2/3)"
    assert shown["adance interval=5"][1] == shown["adance interval=10"][1] == "– (failed)"
    assert shown["ncsn"] == ["–", "–"]


def test_a_number_never_stands_in_a_row_of_other_settings(root: Path, params: Params) -> None:
    """A sweep on one dataset only, by an override of its own, beside runs of the default on another."""
    frame = collect(root, params)
    default = frame[(frame["method"] == "mle") & (frame["dataset"] == "two_moons")].assign(method="adance")
    lost = (frame["method"] == "adance") & (frame["dataset"] == "two_moons")
    frame = pd.concat([frame[~lost], default])
    shown = cells(frame)
    assert shown["adance interval=5"][1] == shown["adance interval=10"][1] == "–"
    assert shown["adance"] == ["–", shown["mle"][1]]
    (contest,) = find_contests(Results(frame))
    assert contest.names == ["mle"]
    assert contest.absent["adance interval=5"] == "not run on `two_moons`"


def test_runs_that_all_diverged_and_values_that_some_lack_are_counted(root: Path, params: Params) -> None:
    frame = collect(root, params)
    mle = (frame["method"] == "mle") & (frame["dataset"] == "eight_gaussians")
    frame.loc[mle & (frame["seed"] == 2) & (frame["metric"] == "kl"), "value"] = np.nan
    assert cells(frame)["mle"][0].endswith("(2/3)")
    frame.loc[mle, "status"] = "diverged"
    assert cells(frame)["mle"][0] == "–\u00a0(0/3)"


def test_bold_is_who_ties_with_the_best_and_never_who_lost_a_run(root: Path, params: Params) -> None:
    shown = cells(collect(root, params))
    bold = {(name, place) for name, texts in shown.items() for place, text in enumerate(texts) if "**" in text}
    assert bold == {("mle", 0), ("adance interval=5", 0)}


def test_fractions_are_explained_where_there_are_any(root: Path, params: Params) -> None:
    frame = collect(root, params)
    assert glance.text(Results(frame)).endswith(PARTIAL)
    assert not glance.text(Results(frame[frame["dataset"] == "eight_gaussians"])).endswith(PARTIAL)


def test_baselines_that_failed_are_said_to_have_failed(root: Path, params: Params) -> None:
    (root / "runs/tiny/two_moons/_baselines/rows.csv").unlink()
    assert cells(collect(root, params))["*oracle*"][1] == "– (failed)"


def test_images_on_which_every_run_failed_still_have_their_column() -> None:
    rows = {
        "dataset": "digits",
        "method": ["mle", "cd"],
        "settings": "",
        "seed": 0,
        "label": "seed=0",
        "status": "failed",
    }
    rows |= {
        "metric": "",
        "samples": "",
        "value": np.nan,
        "direction": "",
        "verdict": "",
        "verdict_reason": "",
        "reason": "x",
    }
    frame = pd.DataFrame(rows)
    shown = glance.text(Results(frame, facts={"digits": {"levels": 17}}))
    assert "| `digits`, short |" in shown.splitlines()[0]
    assert "failed" in shown


def likelihoods(metric: str, of: dict[str, list[float]]) -> pd.DataFrame:
    """Made-up results of one likelihood on one dataset."""
    rows = [
        {"dataset": "digits", "method": name, "seed": seed, "label": f"{name}/{seed}", "value": value}
        for name, values in of.items()
        for seed, value in enumerate(values)
    ]
    shared = {"settings": "", "status": "ok", "verdict": "ok", "samples": "", "direction": "higher", "steps": 1}
    shared |= {"density_verdict": "", "sampler_verdict": ""}
    return pd.DataFrame(rows).assign(metric=metric, **shared)


@pytest.mark.parametrize("metric", ["ais_optimistic", "log_likelihood"])
def test_the_answer_names_a_baseline_that_beats_every_method_in_likelihood(metric: str) -> None:
    of = {"oracle": [99.0], "gaussian": [10.12, 10.12], "dsm": [6.0, 6.2], "ncsn": [-9.0, -7.0]}
    text = answer.text(Results(likelihoods(metric, of)))
    assert "**On `digits` the gaussian baseline beats every method in log-likelihood" in text
    assert "it has 10.1 nats, the best method (`dsm`) 6.10\u00a0±\u00a01.3." in text


@pytest.mark.parametrize(
    "of",
    [
        {"gaussian": [10.0, 10.0], "dsm": [10.5, 9.6], "ncsn": [-9.0, -7.0]},
        {"oracle": [99.0, 99.0], "dsm": [6.0, 6.2]},
        {"gaussian": [10.0, 10.0]},
    ],
)
def test_the_answer_is_silent_where_a_method_is_better_or_nothing_can_be_compared(of: dict[str, list[float]]) -> None:
    assert "baseline beats" not in answer.text(Results(likelihoods("ais_optimistic", of)))


def test_another_metric_or_a_run_that_failed_is_no_defeat() -> None:
    of = {"gaussian": [10.0, 10.0], "dsm": [6.0, 6.0]}
    assert "baseline beats" not in answer.text(Results(likelihoods("inception_score", of)))
    frame = likelihoods("ais_optimistic", of)
    frame.loc[frame["method"] == "dsm", "status"] = "diverged"
    assert "baseline beats" not in answer.text(Results(frame))
