"""Nothing old passes as new: cells that failed or are stale show no number, and the report says what differs."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.report.build import build
from ebmbench.report.results import staleness
from ebmbench.report.results.cells import read_versions
from ebmbench.report.results.frame import collect
from ebmbench.report.results.provenance import collect_provenance
from ebmbench.report.results.staleness import Present, differences
from ebmbench.report.results.suite import Results
from ebmbench.report.sections import glance, runs
from ebmbench.workspace.failures import note_failure
from tests.report.suite import remove_outputs

Params = dict[str, Any]
ALL = {"oracle", "gaussian", "mle", "adance", "ncsn"}
NUMBER = re.compile(r"\d\.\d")


@pytest.fixture
def whole(params: Params) -> Params:
    """One dataset, on which nothing went wrong."""
    own = deepcopy(params)
    own["benchmark"]["datasets"] = ["eight_gaussians"]
    return own


def states(frame: pd.DataFrame) -> dict[str, str]:
    """Status by method."""
    return dict(zip(frame["method"], frame["status"], strict=True))


def reason(frame: pd.DataFrame, method: str) -> str:
    rows = frame[frame["method"] == method]
    assert len(rows) == 1
    assert rows["value"].isna().all()
    return f"{rows['status'].item()}: {rows['reason'].item()}"


def tables(text: str) -> str:
    """The report's tables up to its provenance."""
    return "\n".join(line for line in text.partition("## Provenance")[0].splitlines() if line.startswith("|"))


def test_a_suite_whose_records_fit_is_shown(root: Path, whole: Params) -> None:
    assert states(collect(root, whole)) == dict.fromkeys(ALL, "ok")


def test_a_source_that_cannot_be_prepared_leaves_no_number_of_methods_or_baselines(root: Path, whole: Params) -> None:
    remove_outputs(root, "prepare@eight_gaussians")
    note_failure(root, "tiny", "prepare@eight_gaussians", "UserError: mine.npy: found NaN in row 3")
    frame = collect(root, whole)
    assert states(frame) == dict.fromkeys(["_baselines", "mle", "adance", "ncsn"], "failed")
    told = "failed: `prepare@eight_gaussians`: UserError: mine.npy: found NaN in row 3"
    assert {reason(frame, method) for method in states(frame)} == {told}
    out = build(root, whole)
    text = (out / "report.md").read_text(encoding="utf-8")
    assert text.count("found NaN in row 3") >= 4
    assert not NUMBER.search(tables(text))
    assert not list((out / "figures").glob("*"))


def test_without_features_the_old_numbers_of_the_evaluation_are_not_shown(root: Path, whole: Params) -> None:
    remove_outputs(root, "features@eight_gaussians")
    assert reason(collect(root, whole), "mle") == "failed: no features: no `features/eight_gaussians`"
    note_failure(root, "tiny", "features@eight_gaussians", "ValueError: no labels")
    frame = collect(root, whole)
    assert states(frame) == dict.fromkeys(["_baselines", "mle", "adance", "ncsn"], "failed")
    assert reason(frame, "mle") == "failed: `features@eight_gaussians`: ValueError: no labels"


def test_a_stage_that_failed_after_it_wrote_its_outputs_failed(root: Path, whole: Params) -> None:
    note_failure(root, "tiny", "evaluate@eight_gaussians-mle", "UserError: metrics changed while the stage ran")
    assert states(collect(root, whole))["mle"] == "ok"  # an old note: the record says that it ended well
    (root / "runs/tiny/eight_gaussians/mle/record/evaluate.json").unlink()
    assert "failed: `evaluate@eight_gaussians-mle`: UserError" in reason(collect(root, whole), "mle")


def test_seeds_that_never_ran_are_not_claimed(root: Path, whole: Params) -> None:
    whole["benchmark"]["seeds"] = [0, 7]
    out = build(root, whole)
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "`benchmark.seeds` was \\[0, 1, 2\\], is now \\[0, 7\\]" in text
    assert "seeds (" not in text
    assert "4 cells are stale" in text.split("## At a glance")[0]
    assert "`ebmbench run` makes them anew" in text.partition("## Failures and skipped")[2].partition("\n|")[0]
    assert not NUMBER.search(tables(text))
    assert not list((out / "figures").glob("*"))


def test_the_seeds_of_the_first_paragraph_are_those_of_the_results(root: Path, whole: Params) -> None:
    frame = collect(root, whole)
    assert "3 seeds (0, 1, 2) each" in runs.text(Results(frame))
    one = frame[frame["seed"] == 1]
    assert "1 seed (1) each" in runs.text(Results(one))
    assert "of the only seed" in glance.text(Results(one))
    baselines_only = frame[frame["method"].isin(["oracle", "gaussian"])]
    assert "seed" not in runs.text(Results(baselines_only))


@pytest.mark.parametrize(
    ("edit", "stale", "differs"),
    [
        (lambda params: params["methods"].update(ncsn={"sigma": 1}), {"ncsn"}, "`methods.ncsn.sigma` was not set, is"),
        (lambda params: params.update(sampling={"chains": 9}), ALL, "`sampling(.chains)?` was not set"),
        (lambda params: params.update(resources={"mle": {}}), set(), ""),
    ],
)
def test_other_parameters_make_those_cells_stale_that_had_them(
    root: Path, whole: Params, edit: Callable[[Params], None], stale: set[str], differs: str
) -> None:
    edit(whole)
    found = states(collect(root, whole))
    named = {"oracle", "gaussian"} if found.get("_baselines") == "stale" else set()
    assert {name for name in found if found[name] == "stale"} - {"_baselines"} | named == stale
    for method in stale - {"oracle", "gaussian"}:
        assert re.search(f"^stale: made with other parameters: .*({differs})", reason(collect(root, whole), method))


@pytest.mark.parametrize(
    ("path", "stale"),
    [
        ("ebmbench/methods/mle.py", {"mle"}),
        ("ebmbench/config/params.py", {"mle", "adance", "ncsn", "_baselines"}),
        ("eight_gaussians.npy", {"mle", "adance", "ncsn", "_baselines"}),
        ("prepared/eight_gaussians/train.npy", {"mle", "adance", "ncsn", "_baselines"}),
        ("features/eight_gaussians/status.json", {"mle", "adance", "ncsn", "_baselines"}),
        ("runs/tiny/eight_gaussians/mle/train/seed=0/model.safetensors", {"mle"}),
        ("runs/tiny/eight_gaussians/ncsn/sample/seed=0/diagnostics.json", {"ncsn"}),
        ("ebmbench/report/text/tables.py", set()),
    ],
)
def test_other_code_or_data_make_what_read_them_stale(root: Path, whole: Params, path: str, stale: set[str]) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("other")
    frame = collect(root, whole)
    assert {name for name, state in states(frame).items() if state == "stale"} == stale
    for method in stale:
        told = reason(frame, method)
        assert told.startswith("stale: made from other files than are here now: `")
        assert any(f"`{part}`" in told for part in (path, *map(str, Path(path).parents)))


def test_each_of_the_records_is_needed(root: Path, whole: Params) -> None:
    for path, stage in {
        "prepared/eight_gaussians.record.json": "prepare@eight_gaussians",
        "features/eight_gaussians.record.json": "features@eight_gaussians",
        "runs/tiny/eight_gaussians/mle/record/train.json": "train@eight_gaussians-mle",
        "runs/tiny/eight_gaussians/mle/record/sample.json": "sample@eight_gaussians-mle",
        "runs/tiny/eight_gaussians/mle/record/evaluate.json": "evaluate@eight_gaussians-mle",
    }.items():
        good = (root / path).read_text()
        (root / path).write_text("{")
        assert reason(collect(root, whole), "mle") == f"stale: made without a record of what from: `{stage}`"
        (root / path).write_text(good)
    (root / "runs/tiny/eight_gaussians/_baselines/record.json").unlink()
    assert "`baselines@eight_gaussians`" in reason(collect(root, whole), "_baselines")


def test_a_stale_cell_tells_what_failed_since(root: Path, whole: Params) -> None:
    (root / "eight_gaussians.npy").write_text("nan")
    note_failure(root, "tiny", "prepare@eight_gaussians", "UserError: found NaN")
    told = "made from other files than are here now: `eight_gaussians.npy`; `prepare@eight_gaussians`: UserError"
    assert told in reason(collect(root, whole), "_baselines")


def test_a_path_is_hashed_once_whatever_the_number_of_cells(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []
    original = staleness.hash_of
    monkeypatch.setattr(staleness, "hash_of", lambda path: hashed.append(path) or original(path))
    collect(root, params)
    assert root / "prepared/two_moons" in hashed
    assert len(hashed) == len(set(hashed))


def test_the_report_names_the_versions_that_made_its_cells(root: Path, whole: Params) -> None:
    record = root / "runs/tiny/eight_gaussians/mle/record/train.json"
    content = json.loads(record.read_text())
    content["versions"]["torch"] = "2.1.0"
    record.write_text(json.dumps(content))
    facts = collect_provenance(root, "tiny", read_versions(Present(root, whole), collect(root, whole)))
    assert re.fullmatch(r"[\w.+]+ \(4 cells\), 2\.1\.0 \(1 cell\)", facts["torch"])
    assert re.fullmatch(r"torch [\w.+]+", facts["report built with"])


def test_the_versions_that_prepared_the_data_do_not_change_a_report_that_dvc_would_not_write_again(
    root: Path, whole: Params
) -> None:
    before = read_versions(Present(root, whole), collect(root, whole))
    for record in (root / "prepared/eight_gaussians.record.json", root / "features/eight_gaussians.record.json"):
        content = json.loads(record.read_text())
        content["versions"]["torch"] = "2.1.0"
        record.write_text(json.dumps(content))
    assert states(collect(root, whole)) == dict.fromkeys(ALL, "ok")
    assert read_versions(Present(root, whole), collect(root, whole)) == before


def test_differences_name_the_very_keys() -> None:
    before, now = {"a": {"b": 1, "c": [1]}, "d": None}, {"a": {"b": 1, "c": [1, 2]}, "e": {"f": True}}
    assert list(differences(before, now)) == [("a.c", [1], [1, 2]), ("e", None, {"f": True})]
