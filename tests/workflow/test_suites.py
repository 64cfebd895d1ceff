"""A suite of a toy and images in one clone: DVC's experiments, and from one suite to another and back."""

import copy
import subprocess

import pytest

import ebmbench
from tests.workflow.conftest import Clone, make_clone
from tests.workflow.small_images import PAIR, write_suite

NAMES = {f"GIT_{who}_{what}": f"{who}@test.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
EXPERIMENT = ("dvc", "exp", "run", "-S", "benchmark.datasets=[digits]")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone that has run nothing, with two suites on the same data, committed, as an experiment wants it."""
    clone = make_clone(tmp_path_factory.mktemp("suites"), server="")
    write_suite(clone.root, "pair", PAIR)
    other = copy.deepcopy(PAIR)
    other["benchmark"]["datasets"] = ["digits"]
    other["datasets"]["digits"]["overrides"]["training"]["budget"] = 3000
    write_suite(clone.root, "other", other)
    clone.run("ebmbench", "suite", "use", "pair")
    for command in (["add", "-A"], ["commit", "-qm", "suites"]):
        subprocess.run(["git", *command], cwd=clone.root, env=clone.environment() | NAMES, check=True)
    return clone


def cells_of(clone: Clone, suite: str) -> set[tuple[str, str]]:
    """Which cells the report has, all of them good."""
    frame = ebmbench.load_results(clone.root / "reports" / suite / "latest")
    assert set(frame["status"]) == {"ok"}
    return set(zip(frame["dataset"], frame["method"], strict=True))


DIGITS = {("digits", name) for name in ("oracle", "noisy", "dsm")}
MOONS = {("two_moons", name) for name in ("oracle", "gaussian", "dsm")}


@pytest.mark.slow
def test_an_experiment_on_one_dataset_reports_its_cells_alone(pair: Clone) -> None:
    assert "Ran experiment" in pair.run(*EXPERIMENT, **NAMES)
    assert cells_of(pair, "pair") == DIGITS
    assert not (pair.root / "runs/pair/two_moons").exists()
    frame = ebmbench.load_results(pair.root / "reports/pair/latest")
    assert frame.loc[frame["metric"] == "fid", "value"].notna().all()


@pytest.mark.slow
def test_an_experiment_leaves_out_cells_that_the_suite_has_run(pair: Clone, server: str) -> None:
    pair.run("ebmbench", "suite", "use", "pair", "--force")
    pair.run("ebmbench", "run", PREFECT_API_URL=server)
    assert cells_of(pair, "pair") == DIGITS | MOONS
    trained = pair.trained()
    assert "Ran experiment" in pair.run(*EXPERIMENT, **NAMES)
    assert cells_of(pair, "pair") == DIGITS
    assert "two_moons" not in (pair.root / "reports/pair/latest/report.md").read_text(encoding="utf-8")
    assert pair.trained() == trained


@pytest.mark.slow
def test_results_survive_another_suite(pair: Clone, server: str) -> None:
    pair.run("ebmbench", "suite", "use", "pair", "--force")
    pair.run("ebmbench", "run", PREFECT_API_URL=server)
    before, trained = pair.metrics(), pair.trained()
    pair.run("ebmbench", "run", "--suite", "other", PREFECT_API_URL=server)
    assert pair.outcomes()["train@digits-dsm"] == "ran"
    assert len(pair.trained() - trained) == 1
    trained = pair.trained()
    pair.run("ebmbench", "run", "--suite", "pair", PREFECT_API_URL=server)
    assert {kind for name, kind in pair.outcomes().items() if name != "report"} <= {"restored", "skipped"}
    assert pair.trained() == trained
    assert {path: text for path, text in pair.metrics().items() if path in before} == before
    assert cells_of(pair, "pair") == DIGITS | MOONS
