"""Tables of images: every number is recomputed from `results.csv`, and kinds of samples are never mixed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ebmbench.report.build import assemble
from ebmbench.report.results.frame import collect
from ebmbench.report.results.groups import BOUNDS, IMAGE, drop_silent_baselines
from ebmbench.report.results.kinds import KINDS, kinds, mask_other_kinds, select_kind
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.sections import glance
from ebmbench.report.sections.main_table import render_toys
from ebmbench.report.text.tables import find_best
from tests.report.fixtures import Params
from tests.report.image_suite import LEVELS, NOT_FINITE
from tests.report.printed import Table, expect, expect_median, rows_of, table_of, values_of

COLUMNS = ("fid_ratio", "precision", "coverage")  # of the main table


def text_of(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8")


def kind_tables(report: Path, *header: str) -> dict[str, Table]:
    """The rows of a table by kind of samples, without it; those of baselines are `exact`."""
    found: dict[str, Table] = {}
    kind = ""
    for first, *rest in table_of(report, "samples", "method", *header)[1:]:
        kind = first or kind
        found.setdefault(kind, []).append(rest)
    return found


def test_the_main_table_has_the_methods_of_each_kind_and_the_baselines_once(image_report: Path) -> None:
    found = kind_tables(image_report, "FID ratio ↓")
    assert list(found) == ["exact", *KINDS]
    assert [row[0] for row in found.pop("exact")] == ["*oracle*", "*gaussian*", "*noisy*"]
    for kind, rows in found.items():
        having = [name for name, (_, has) in LEVELS.items() if kind in has]
        assert [row[0] for row in rows if row[0] != "ssm"] == having
        assert ["ssm", *["–"] * len(COLUMNS), "failed"] in rows


def test_every_number_of_the_tables_of_kinds_is_in_the_results(image_report: Path) -> None:
    results = load_results(image_report)
    others = [name for name in IMAGE if name not in COLUMNS]
    tables_of = {COLUMNS: kind_tables(image_report, "FID ratio ↓"), tuple(others): kind_tables(image_report, "FID ↓")}
    for metrics, found in tables_of.items():
        for kind, rows in found.items():
            for name, *texts in rows:
                for metric, text in zip(metrics, texts, strict=False):
                    expect(text, values_of(rows_of(results, "digits", name), metric, kind))
                assert len(texts) == len(metrics) + (metrics == COLUMNS)  # the verdict


def test_every_number_at_a_glance_is_of_its_kind(image_report: Path) -> None:
    results, ((_, *columns), *rows) = load_results(image_report), table_of(image_report, "median FID ratio ↓")
    assert columns == [f"`digits`, {kind}" for kind in KINDS]
    for name, *texts in rows:
        for column, text in zip(columns, texts, strict=True):
            values = values_of(rows_of(results, "digits", name), "fid_ratio", column.rpartition(" ")[2])
            expect_median(text, values)


def test_methods_stand_in_the_order_of_the_suite_whatever_kinds_they_have(image_report: Path) -> None:
    names = [row[0].split(" ")[0] for row in table_of(image_report, "median FID ratio ↓")[1:]]
    assert list(dict.fromkeys(names))[3:] == ["mle", "cd", "nce", "adance", "ssm", "ncsn"]


def test_every_number_of_the_likelihoods_is_in_the_results(image_report: Path) -> None:
    results = load_results(image_report)
    bounds = [name for name in BOUNDS if name in set(results["metric"])]  # no method of it is a noise ladder
    _, *rows = table_of(image_report, "method", "log-likelihood, optimistic ↑")
    assert [row[0] for row in rows if row[0].startswith("*")] == []
    for row in rows:
        for metric, text in zip(bounds, row[1:], strict=True):
            expect(text, values_of(rows_of(results, "digits", row[0]), metric))


def test_bold_is_given_inside_one_kind_and_the_answer_names_it(image_report: Path) -> None:
    results = load_results(image_report)
    assert find_best(select_kind(results, "digits", "buffer"), "digits", "fid_ratio") == {"mle", "adance interval=1"}
    # ncsn has the best ratio of its kind, and none of the others.
    assert find_best(select_kind(results, "digits", "long"), "digits", "fid_ratio") == {"ncsn"}
    assert "**Long runs: `ncsn`.** By FID ratio of long-run samples, `ncsn` is best on `digits`" in text_of(
        image_report
    )
    assert "By KL" not in text_of(image_report)


def test_runs_without_a_value_of_a_kind_are_counted(image_report: Path) -> None:
    short = {row[0]: row for row in kind_tables(image_report, "FID ratio ↓")["short"]}
    assert short["cd"][1].endswith("(2/3)")
    assert short["cd"][-1] == "2/3 sampler limit, 1/3 diverged"
    assert short["nce"][1].endswith("(2/3)")
    reasons = {row[3]: row for row in table_of(image_report, "metrics", "methods")}
    assert reasons[NOT_FINITE][0].endswith("`class_entropy` of short-run samples")


def test_a_method_without_any_samples_is_not_hidden(image_report: Path) -> None:
    results = load_results(image_report)
    mle = (results["method"] == "mle") & results["samples"].isin(KINDS)
    results.loc[mle, ["samples", "value"]] = ["", np.nan]
    assert "mle" in [line.split(" | ")[0].strip("| ") for line in glance.text(Results(results)).splitlines()]


def test_the_text_explains_kinds_protocol_and_what_not_to_do(image_report: Path) -> None:
    text = text_of(image_report)
    assert (
        "On `digits` FID is of 1000 samples, by *classifier of digits; reference 1000 of 1437 training images*" in text
    )
    assert "never by a classifier's confidence alone" in text
    assert "by `langevin` for `mle`, `cd` and `adance`" in text
    assert "cannot be compared" in text
    assert "Fisher and off-support together" not in text
    assert "## Densities" not in text


def is_image(frame: pd.DataFrame, dataset: str, **facts: Any) -> bool:
    return dataset in Results(frame, facts={dataset: facts} if facts else {}).image_datasets


def test_images_are_known_by_the_facts_of_their_dataset(image_report: Path) -> None:
    results = load_results(image_report)
    assert is_image(results, "digits", levels=17)
    assert not is_image(results, "digits", levels=None)


def test_images_of_an_old_table_are_known_by_their_metrics(root: Path, params: Params, image_report: Path) -> None:
    results, plane = load_results(image_report), collect(root, params)
    assert is_image(results, "digits")
    assert is_image(results[results["metric"].isin(["passes", "recall"])].assign(value=np.nan), "digits")
    assert not is_image(plane, "eight_gaussians")
    assert kinds(results, "digits") == list(KINDS)
    assert not is_image(plane.assign(samples=plane["samples"].replace("long", "short")), "eight_gaussians")


def test_kinds_of_points_in_the_plane_are_not_mixed_either(root: Path, params: Params) -> None:
    frame = collect(root, params)
    rows = frame[(frame["metric"] == "mode_sampler") & (frame["samples"] == "long")]
    both = pd.concat([frame, rows.assign(samples="short", value=rows["value"] * 100)], ignore_index=True)
    assert render_toys(Results(both)) == render_toys(Results(frame))
    assert set(Results(both).toys["label"]) == set(mask_other_kinds(frame, "long")["label"])


def test_a_baseline_that_says_nothing_of_a_dataset_has_no_row(root: Path, params: Params) -> None:
    frame = collect(root, params)
    rows = frame[frame["method"] == "gaussian"]
    silent = pd.concat([frame, rows.assign(method="noisy", value=np.nan, reason="no images")], ignore_index=True)
    assert "noisy" in render_toys(Results(silent))
    assert "noisy" not in render_toys(Results(drop_silent_baselines(silent)))
    assert len(drop_silent_baselines(frame)) == len(frame)


def test_results_from_before_there_were_kinds_still_load(report: Path, tmp_path: Path) -> None:
    old = pd.read_csv(report / "results.csv", dtype=str, keep_default_na=False).drop(columns="samples")
    old.to_csv(tmp_path / "results.csv", index=False)
    results = load_results(tmp_path)
    assert set(results["samples"]) == {""}
    assert render_toys(Results(results)) == render_toys(Results(load_results(report)))


def test_a_suite_of_both_has_the_tables_of_both(root: Path, params: Params, image_report: Path) -> None:
    both = pd.concat([collect(root, params), load_results(image_report)], ignore_index=True)
    text = assemble(Results(both, params))
    glances = re.findall(r"^\| median .*$", text, flags=re.MULTILINE)
    assert next(line.split(" | ")[1:] for line in glances) == ["`eight_gaussians`", "`two_moons` |"]
    assert "`digits`, buffer" in glances[1]
    plane = text.split("## Main table")[1].split("**`digits`**")[0]
    assert ("`two_moons`" in plane, "digits" in plane) == (True, False)
    assert text.index("Fisher and off-support together") < text.index("samples are of several kinds")
    assert "**Densities: `mle` or `adance interval=5`.** By KL, " in text
    assert "20\u202f000 on `eight_gaussians` and `two_moons`, 40\u202f000 on `digits`." in text
    assert "**Samples from noise: " in text
