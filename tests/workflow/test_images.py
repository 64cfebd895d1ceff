"""Colour images from small files in the publishers' formats to the report: ConvNets B and C as they are in the table.

The same questions to two runs of one suite: the stages called one after the other, and, slowly, the flow in a clone.
"""

import math
import shutil
from pathlib import Path

import pytest

import ebmbench
from ebmbench.config import suites
from ebmbench.core import checkpoint
from ebmbench.core.dataset import load_facts
from ebmbench.stages import baselines, evaluate, features, prepare, report, sample, train
from ebmbench.workspace.files import read_json
from tests.workflow.conftest import ROOT, Clone, make_clone
from tests.workflow.small_images import COLOUR, write_colour, write_suite

DATASETS, METHODS = ("cifar10", "celeba"), ("mle", "ncsn")
STAGES = {f"{stage}@{dataset}" for stage in ("prepare", "features", "baselines") for dataset in DATASETS} | {
    f"{stage}@{dataset}-{method}"
    for stage in ("train", "sample", "evaluate")
    for dataset in DATASETS
    for method in METHODS
}
NO_LABELS = "the images have no labels, so there is no reference classifier"


def by_stages(root: Path, files: dict[str, str]) -> Path:
    """The suite in a bare project: no DVC, no Prefect, no process of its own for a stage."""
    shutil.copytree(ROOT / "suites", root / "suites")
    (root / "ebmbench" / "data").mkdir(parents=True)
    for dataset in DATASETS:
        shutil.copy(ROOT / "ebmbench" / "data" / f"{dataset}.py", root / "ebmbench" / "data")
    write_suite(root, "colour", COLOUR)
    suites.use(root, "colour")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for name, value in files.items():
            patch.setenv(name, value)
        for dataset in DATASETS:
            assert [stage.main([dataset]) for stage in (prepare, features, baselines)] == [0, 0, 0]
            for method in METHODS:
                assert [stage.main([dataset, method]) for stage in (train, sample, evaluate)] == [0, 0, 0]
        assert report.main([]) == 0
    return root


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_colour(tmp_path_factory.mktemp("colour"))


@pytest.fixture(scope="module")
def by_flow(tmp_path_factory: pytest.TempPathFactory, server: str, files: dict[str, str]) -> Clone:
    """The suite in a clone by `ebmbench run`."""
    clone = make_clone(tmp_path_factory.mktemp("flow"), server)
    write_suite(clone.root, "colour", COLOUR)
    printed = clone.run("ebmbench", "run", "--suite", "colour", **files)
    assert "reports/colour/latest/report.md" in printed
    return clone


@pytest.fixture(scope="module", params=["stages", pytest.param("flow", marks=pytest.mark.slow)])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]) -> Path:
    """The project after the run."""
    if request.param == "stages":
        return by_stages(tmp_path_factory.mktemp("bare") / "project", files)
    return request.getfixturevalue("by_flow").root


@pytest.mark.parametrize("dataset", DATASETS)
def test_unverified_files_of_the_original_formats_are_read_and_called_so(root: Path, dataset: str) -> None:
    facts = load_facts(root / "prepared" / dataset)
    sizes = {"cifar10": (100, 20, 10), "celeba": (20, 20, 0)}
    assert (facts.shape, facts.levels) == ([3, 32, 32], 256)
    assert (facts.train, facts.test, len(facts.classes)) == sizes[dataset]
    assert "unverified" in facts.licence
    assert read_json(root / "prepared" / dataset / "source.json")["unverified"] is True


@pytest.mark.parametrize(("dataset", "variant", "inputs"), [("cifar10", "C", 512), ("celeba", "C", 512)])
def test_the_networks_of_the_table_take_some_steps_at_full_width(
    root: Path, dataset: str, variant: str, inputs: int
) -> None:
    for method in METHODS:
        folder = root / "runs" / "colour" / dataset / method / "train" / "seed=0"
        status = read_json(folder / "status.json")
        assert (status["status"], status["step"] >= 2) == ("ok", True)
        tensors, header = checkpoint.load(folder / "model.safetensors")
        if method == "ncsn":
            assert header["settings"]["model"] == "unet"
        else:
            assert (header["settings"]["model"], header["model"]["variant"]) == ("convnet", variant)
            assert (1024, inputs, 4, 4) in {tuple(tensor.shape) for tensor in tensors.values()}


def test_labelled_images_have_an_fid_of_every_kind_of_samples(root: Path) -> None:
    frame = ebmbench.load_results(root / "reports/colour/latest")
    fid = frame[(frame["dataset"] == "cifar10") & (frame["metric"] == "fid")]
    kinds = {name: set(part["samples"]) for name, part in fid.groupby("method")}
    chains = {"buffer", "short", "long"}
    exact = {name: {"exact"} for name in ("oracle", "noisy", "gaussian")}
    assert kinds == {"mle": chains, "ncsn": {"short", "long"}, **exact}
    assert all(math.isfinite(value) and value > 0 for value in fid["value"])


def test_images_without_labels_have_no_fid_and_say_why(root: Path) -> None:
    frame = ebmbench.load_results(root / "reports/colour/latest")
    fid = frame[(frame["dataset"] == "celeba") & (frame["metric"] == "fid")]
    assert set(fid["method"]) == {*METHODS, "oracle", "noisy", "gaussian"}
    assert fid["value"].isna().all()
    assert set(fid["reason"]) == {NO_LABELS}
    assert set(fid["status"]) == {"ok"}
    assert read_json(root / "features/celeba/status.json")["status"] == "skipped"
    text = (root / "reports/colour/latest/report.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if NO_LABELS in line and "short-run" in line]
    assert "`fid`" in line
    assert "`celeba`" in line


def test_the_report_shows_strips_galleries_and_chains(root: Path) -> None:
    folder = root / "reports/colour/latest"
    text = (folder / "report.md").read_text(encoding="utf-8")
    for name in (f"{figure}-{dataset}" for figure in ("strip", "gallery", "chains") for dataset in DATASETS):
        assert f"(figures/{name}.png)" in text
        assert (folder / f"figures/{name}.png").stat().st_size > 1000


@pytest.mark.slow
def test_all_stages_run_once_and_never_again(by_flow: Clone, files: dict[str, str]) -> None:
    assert by_flow.outcomes() == dict.fromkeys({*STAGES, "report"}, "ran")
    before = {path: (by_flow.root / path).read_bytes() for path in ("dvc.lock", "work/flow/outcomes.json")}
    assert "nothing to do" in by_flow.run("ebmbench", "run", **files)
    assert {path: (by_flow.root / path).read_bytes() for path in before} == before
