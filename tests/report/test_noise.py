"""The comparison of contrastive methods: facts from their files, every number recomputed from the results."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.config import registry
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results
from ebmbench.report.sections import noise
from ebmbench.workspace import code_hash
from tests.report.fixtures import Params
from tests.report.image_suite import write_images
from tests.report.printed import Table, expect_median, parse, rows_of, values_of

NAMES = ["nce", *(f"adance interval={interval}" for interval in (1, 5, 10, 20)), "cnce"]
KL, RATIO = "KL ↓ `{}`", "FID ratio ↓ `digits`"


@pytest.fixture(autouse=True)
def real_methods(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The facts of the files that ship."""
    monkeypatch.setattr(registry, "PACKAGE", code_hash.PACKAGE)
    registry.entries.cache_clear()
    yield
    registry.entries.cache_clear()


@pytest.fixture
def frame(root: Path, params: Params, image_params: Params, tmp_path: Path) -> pd.DataFrame:
    """Two toys and digits: one run of cnce diverged, adance is swept and failed on one toy, and nce learns log Z."""
    toys, images = collect(root, params), collect(write_images(tmp_path / "images"), image_params)
    toys["method"] = toys["method"].replace({"mle": "nce", "ncsn": "cnce"})
    toys["metric"] = toys["metric"].where(toys["method"] != "nce", toys["metric"].replace("fisher", "log_z_error"))
    images["method"] = images["method"].replace({"nce": "", "cd": "cnce", "mle": "nce"})
    slow = images["method"] == "cnce"
    images["seconds_train"] = images["seconds_train"].where(~slow, 3 * images["seconds_train"])
    return pd.concat([toys, images[~images["method"].isin(["", "ssm", "ncsn"])]], ignore_index=True)


def tables_of(frame: pd.DataFrame) -> list[Table]:
    """Both tables as cells."""
    lines = [line for line in noise.text(Results(frame)).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if not line.startswith("| :---")]
    starts = [place for place, row in enumerate(cells) if row[0] == "method"]
    return [cells[place:end] for place, end in zip(starts, [*starts[1:], None], strict=True)]


def column(table: Table, heading: str) -> dict[str, str]:
    place = table[0].index(heading)
    return {row[0]: row[place] for row in table[1:]}


def test_facts_are_those_of_the_methods_files(frame: pd.DataFrame) -> None:
    table, _ = tables_of(frame)
    assert [row[0] for row in table[1:]] == NAMES
    assert column(table, "learns log Z") == dict.fromkeys(NAMES, "no") | {"nce": "yes"}
    assert set(column(table, "adversarial").values()) == {"no"}
    assert column(table, "noise")["cnce"] == "noisy copies of the data"
    played = frame.assign(method=frame["method"].replace("cnce", "fce"))
    assert column(tables_of(played)[0], "adversarial")["fce"] == "yes"


def test_every_quality_is_the_median_of_the_results(frame: pd.DataFrame) -> None:
    table, second = tables_of(frame)
    toys = ("eight_gaussians", "two_moons")
    asked = [(table, KL.format(toy), toy, "kl", None) for toy in toys] + [
        (table, RATIO, "digits", "fid_ratio", "short")
    ]
    asked += [(second, f"error of log Z ↓ `{toy}`", toy, "log_z_error", None) for toy in toys]
    found = 0
    for where, heading, dataset, metric, kind in asked:
        for name, text in column(where, heading).items():
            values = values_of(rows_of(frame, dataset, name), metric, kind)
            expect_median(text, values)
            found += bool(values)
    assert found == 4 + 5 + 2
    errors = [text for name, *cells in second[1:] for text in cells[4:] if name != "nce"]
    assert set(errors) == {"–"}


def test_steadiness_and_cost_follow_from_the_runs(frame: pd.DataFrame) -> None:
    _, table = tables_of(frame)
    ended, spread, seconds = (column(table, heading) for heading in ("ended", "worst/best seed", "seconds"))
    assert ended == dict.fromkeys(NAMES, "3/3") | {"nce": "8/9", "cnce": "8/9", "adance interval=5": "6/6"}
    assert spread["nce"] == spread["cnce"] == "∞"  # a run of each diverged
    name = "adance interval=5"
    found = [values_of(rows_of(frame, "eight_gaussians", name), "kl")]
    found.append(values_of(rows_of(frame, "digits", name), "fid_ratio", "short"))
    worst = max(max(values) / min(values) for values in found)
    assert parse(spread[name])[0] == pytest.approx(worst, abs=parse(spread[name])[1])
    assert seconds["nce"] == "1.00"
    median, low, high = re.fullmatch(r"(.*)\u00a0\((.*)–(.*)\)", seconds["cnce"]).groups()
    per_set = []
    for dataset in ("eight_gaussians", "two_moons", "digits"):
        good = [rows_of(frame, dataset, name).query("status == 'ok'") for name in ("cnce", "nce")]
        own, known = (np.median(rows.groupby("label")["seconds_train"].first()) for rows in good)
        per_set.append(own / known)
    for text, value in zip((median, low, high), (np.median(per_set), min(per_set), max(per_set)), strict=True):
        assert parse(text)[0] == pytest.approx(value, abs=parse(text)[1])
    assert float(high) > 3


def test_a_suite_with_two_such_methods_has_no_such_section(frame: pd.DataFrame) -> None:
    assert noise.text(Results(frame))
    assert noise.text(Results(frame[frame["method"] != "cnce"])) == ""
    assert noise.text(Results(frame.assign(method=frame["method"].replace("cnce", "mle")))) == ""


def test_without_nce_the_first_method_is_the_measure_and_without_images_none_are_named(frame: pd.DataFrame) -> None:
    toys = frame[frame["dataset"] != "digits"]
    text = noise.text(Results(toys.assign(method=toys["method"].replace("nce", "brm"))))
    assert "those of `brm`" in text
    assert "FID" not in text
    assert "images" not in text
