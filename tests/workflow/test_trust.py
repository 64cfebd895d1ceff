"""Nothing old passes as new: real runs that fail, or whose files are edited, and what their reports say then."""

import numpy as np
import pandas as pd
import pytest

from ebmbench.workspace.layout import current_report
from tests.workflow.conftest import Clone, make_clone

pytestmark = pytest.mark.slow
SUITE = """\
# Two datasets of one's own, one cell each.
benchmark:
  suite: tiny
  seeds: [0]
  datasets: [mine, other]
  methods: [dsm]
  metrics: [mmd]
  baselines: [gaussian]
training: {budget: 20_000, rows: 10}
sampling: {chains: 400, sampler: {steps: 3}}
metrics: {block: 200}
datasets:
  mine: {source: mine.npy}
  other: {source: data/other}
methods: {dsm: {sigma: 0.1}}
"""
OTHER = """\
import numpy as np
from pathlib import Path
from helper import scaled


def sample(count, generator):
    return scaled(np.resize(np.load(Path(__file__).parent / "raw.npy"), (count, 2)))
"""
LATEST = "reports/tiny/latest"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, server: str) -> Clone:
    found = make_clone(tmp_path_factory.mktemp("trust"), server, SUITE)
    folder = found.root / "data" / "other"
    folder.mkdir(parents=True)
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    np.save(found.root / "mine.npy", rows)
    np.save(folder / "raw.npy", rows)
    (folder / "dataset.py").write_text(OTHER)
    (folder / "helper.py").write_text("def scaled(x):\n    return 1.0 * x\n")
    found.run("ebmbench", "run", "--jobs", "2")
    return found


def results(clone: Clone) -> pd.DataFrame:
    return pd.read_csv(current_report(clone.root, "tiny") / "results.csv")


def text(clone: Clone) -> str:
    return (current_report(clone.root, "tiny") / "report.md").read_text(encoding="utf-8")


def test_the_users_own_data_are_where_they_were(clone: Clone) -> None:
    assert sorted(path.name for path in (clone.root / "data" / "other").glob("*.*")) == [
        "dataset.py",
        "helper.py",
        "raw.npy",
    ]
    assert set(results(clone)["status"]) == {"ok"}


def test_an_edited_helper_makes_its_dataset_anew_and_no_other(clone: Clone) -> None:
    clone.edit("data/other/helper.py", "1.0 * x", "2.0 * x")
    said = clone.run("ebmbench", "run", "--jobs", "2")
    assert "prepare@other ran" in said
    assert "prepare@mine" not in said


def test_parameters_that_made_nothing_are_not_shown_as_if_they_had(clone: Clone) -> None:
    clone.edit("params.yaml", "seeds: [0]", "seeds: [0, 7]")
    clone.run("ebmbench", "report")
    assert set(results(clone)["status"]) == {"stale"}
    assert "2 seeds" not in text(clone)
    assert results(clone)["reason"].str.contains("`benchmark.seeds` was [0], is now [0, 7]", regex=False).all()
    assert "other parameters" in clone.run("ebmbench", "report", "release", "1.0", code=2)
    clone.edit("params.yaml", "seeds: [0, 7]", "seeds: [0]")
    clone.run("ebmbench", "report")
    assert set(results(clone)["status"]) == {"ok"}


def test_a_report_that_fails_leaves_the_last_one(clone: Clone) -> None:
    before = text(clone)
    (clone.root / LATEST / "notes.md").write_text("mine")
    clone.edit("ebmbench/report/sections/answer.py", "import", "raise RuntimeError('planted')\nimport")
    assert "failed: report" in clone.run("ebmbench", "run", code=1)
    assert text(clone) == before
    clone.edit("ebmbench/report/sections/answer.py", "raise RuntimeError('planted')\n", "")
    clone.run("ebmbench", "run")
    assert (clone.root / LATEST / "notes.md").read_text() == "mine"


def test_after_a_failure_upstream_no_old_number_stands(clone: Clone) -> None:
    rows = np.load(clone.root / "mine.npy")
    rows[7, 1] = np.nan
    np.save(clone.root / "mine.npy", rows)
    said = clone.run("ebmbench", "run", "--jobs", "2", code=1)
    assert "failed: prepare@mine" in said
    found = results(clone)
    mine, other = (found[found["dataset"] == name] for name in ("mine", "other"))
    assert set(mine["status"]) == {"failed"}
    assert {"dsm", "_baselines"} == set(mine["method"])
    assert mine["value"].isna().all()
    assert mine["reason"].str.contains("not finite").all()
    assert set(other["status"]) == {"ok"}
    assert "prepare@mine" in text(clone).partition("Failures")[2]


def test_once_it_is_mended_the_report_is_whole_again(clone: Clone) -> None:
    """DVC restores what it knows, and finds nothing changed that the report depends on."""
    np.save(clone.root / "mine.npy", np.random.default_rng(0).normal(size=(3000, 2)))
    clone.run("ebmbench", "run", "--jobs", "2")
    assert set(results(clone)["status"]) == {"ok"}
    assert "nothing to do" in clone.run("ebmbench", "run")


def test_a_stage_that_cannot_even_be_imported_leaves_no_old_number(clone: Clone) -> None:
    path = clone.root / "ebmbench/features/classifier.py"
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "\nnot python\n", encoding="utf-8")
    clone.run("ebmbench", "run", "--jobs", "2", code=1)
    assert set(results(clone)["status"]) == {"failed"}
    path.write_text(before, encoding="utf-8")
    clone.run("ebmbench", "run", "--jobs", "2")
    assert set(results(clone)["status"]) == {"ok"}
