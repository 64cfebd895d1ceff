"""The stage `prepare` on images: small files in the original format, through the command, and one's own arrays."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmbench.config.params import load_params
from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import Facts, load_facts, read_labels, read_outliers, read_split
from ebmbench.data.common.files import UNVERIFIED
from ebmbench.data.common.images import image_facts
from ebmbench.data.common.sources import open_truth
from ebmbench.stages.inputs import read_inputs
from ebmbench.stages.prepare import main
from ebmbench.workspace.layout import DATA_ROOT
from tests.data.originals import cifar_batches, cifar_record_bytes, grey, write_celeba, write_idx, write_tar

PACKAGE = Path(__file__).parents[2] / "ebmbench"
PARAMS = """\
benchmark: {{suite: tiny, seeds: [0], datasets: [{name}], methods: [dsm], metrics: [mmd]}}
methods: {{dsm: {{model: mlp}}}}
data: {{root: files}}
datasets:
  {name}: {entry}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project; the files of datasets are looked for in its folder `files`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(DATA_ROOT, raising=False)
    monkeypatch.delenv(UNVERIFIED, raising=False)
    (tmp_path / "files").mkdir()
    return tmp_path


def prepare(project: Path, name: str, entry: str) -> int:
    (project / "params.yaml").write_text(PARAMS.format(name=name, entry=entry), encoding="utf-8")
    source = PACKAGE / "data" / f"{name}.py"
    if source.is_file():
        shutil.copyfile(source, project / source.name)
    return main([name])


def source_of(project: Path, name: str) -> dict[str, object]:
    return json.loads((project / "prepared" / name / "source.json").read_text(encoding="utf-8"))


def test_small_files_of_ones_own_go_through_and_say_that_they_are_unverified(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_idx(project / "files")
    monkeypatch.setenv(UNVERIFIED, "1")
    assert prepare(project, "mnist", "{source: mnist.py, train: 40, test: 10}") == 0
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert UNVERIFIED in warning
    folder = project / "prepared" / "mnist"
    facts = load_facts(folder)
    assert facts.is_image
    assert (facts.shape, facts.train, facts.test, facts.levels) == ([1, 28, 28], 40, 10, 256)
    assert "unverified" in facts.licence
    assert source_of(project, "mnist")["unverified"] is True
    assert np.load(folder / "train.npy").dtype == np.uint8
    np.testing.assert_array_equal(np.load(folder / "train.npy")[:, 0], written["train-images-idx3-ubyte"])
    assert read_labels(folder, "test").shape == (10,)
    assert -1 <= float(read_split(folder, "train").min()) < float(read_split(folder, "train").max()) <= 1


def test_the_same_files_are_refused_without_the_variable(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_idx(project / "files")
    assert prepare(project, "mnist", "{source: mnist.py}") == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "found MD5" in printed
    assert not (project / "prepared").exists()


def test_colour_images_and_images_without_labels(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNVERIFIED, "1")
    records = {f"cifar-10-batches-bin/{name}.bin": cifar_record_bytes(*both) for name, both in cifar_batches().items()}
    write_tar(project / "files" / "cifar-10-binary.tar.gz", records)
    write_celeba(project / "files" / "celeba")
    assert prepare(project, "cifar10", "{source: cifar10.py}") == 0
    assert prepare(project, "celeba", "{source: celeba.py, function: images_64}") == 0
    assert load_facts(project / "prepared" / "cifar10").classes[3] == "cat"
    facts = load_facts(project / "prepared" / "celeba")
    assert (facts.shape, facts.classes) == ([3, 64, 64], [])
    assert len(read_labels(project / "prepared" / "celeba", "train")) == 0


def test_digits_are_prepared_from_nothing_and_verified(project: Path) -> None:
    assert prepare(project, "digits", "{source: digits.py}") == 0
    facts = load_facts(project / "prepared" / "digits")
    assert (facts.train, facts.test, facts.levels, len(facts.classes)) == (1297, 500, 17, 10)
    assert np.array(facts.covariance).shape == (64, 64)
    assert "unverified" not in facts.licence
    assert "unverified" not in source_of(project, "digits")


@pytest.mark.parametrize("shape", [(8, 8), (1, 8, 8), (3, 8, 8)])
def test_an_array_of_bytes_is_taken_as_images(project: Path, shape: tuple[int, ...]) -> None:
    np.save(project / "mine.npy", grey(50, 0, *shape))
    assert prepare(project, "mine", "{source: mine.npy, train: 30}") == 0
    facts = load_facts(project / "prepared" / "mine")
    assert (facts.shape, facts.train, facts.test) == ([shape[0] if len(shape) == 3 else 1, 8, 8], 30, 10)
    assert facts.levels == 256
    assert facts.classes == []


def test_labels_of_ones_own_stay_with_their_images(project: Path) -> None:
    labels = np.array([3, 7] * 25)
    np.savez(project / "mine.npz", y=labels, x=np.broadcast_to(labels.astype(np.uint8)[:, None, None], (50, 6, 6)))
    assert prepare(project, "mine", "{source: mine.npz}") == 0
    folder = project / "prepared" / "mine"
    assert load_facts(folder).classes == ["3", "7"]
    for split in ("train", "test"):
        values = np.load(folder / f"{split}.npy")[:, 0, 0, 0]
        np.testing.assert_array_equal(np.array([3, 7])[read_labels(folder, split)], values)


def test_labels_that_a_source_no_longer_has_are_removed(project: Path) -> None:
    x = grey(50, 0, 6, 6)
    np.savez(project / "mine.npz", x=x, y=np.arange(50) % 2)
    assert prepare(project, "mine", "{source: mine.npz}") == 0
    np.savez(project / "mine.npz", x=x)
    assert prepare(project, "mine", "{source: mine.npz}") == 0
    assert [len(read_labels(project / "prepared" / "mine", split)) for split in ("train", "test")] == [0, 0]


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": grey(50, 0, 8, 8, 3)}, "channels first"),
        ({"x": grey(50, 0, 8, 8), "y": np.arange(49)}, "labels y of shape"),
        ({"x": grey(50, 0, 8, 8), "y": np.linspace(0, 1, 50)}, "labels y of shape"),
        ({"x": np.full((50, 8, 8), 7, dtype=np.uint8)}, "constant"),
    ],
)
def test_arrays_that_are_no_images_are_refused_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arrays: dict[str, np.ndarray], reason: str
) -> None:
    np.savez(project / "mine.npz", **arrays)
    assert prepare(project, "mine", "{source: mine.npz}") == 2
    printed = capsys.readouterr().err
    assert reason in printed
    assert printed.count("\n") == 1


def test_data_that_are_no_images_stay_as_they_were(project: Path) -> None:
    """The split and the values of a plain array, as version 0.2 made them."""
    rows = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    np.save(project / "plain.npy", rows)
    assert prepare(project, "plain", "{source: plain.npy, train: 60}") == 0
    folder = project / "prepared" / "plain"
    assert load_facts(folder).levels is None
    train, test = np.load(folder / "train.npy"), np.load(folder / "test.npy")
    assert (train.shape, test.shape, train.dtype) == ((60, 2), (20, 2), np.float32)
    assert load_facts(folder).hash[:12] == "947a3ae57985"


def test_moments_by_integers_are_those_of_the_values() -> None:
    train, test = (torch.as_tensor(grey(count, count, 3, 5, 5)) for count in (2500, 10))
    more = {"licence": "", "hash": "", "classes": []}
    ours = image_facts("x", train, test, 256, **more)
    values = [(rows.double() * 2 / 255 - 1).numpy() for rows in (train, test)]
    plain = Facts.of("x", *values, levels=256, **more)
    np.testing.assert_allclose(ours.mean, plain.mean, rtol=1e-10, atol=1e-12)
    assert ours.scale == pytest.approx(plain.scale, rel=1e-10)
    assert (ours.shape, ours.train, ours.test, ours.covariance) == (plain.shape, 2500, 10, [])


def test_images_have_no_density(project: Path) -> None:
    shutil.copyfile(PACKAGE / "data" / "digits.py", project / "digits.py")
    assert prepare(project, "digits", "{source: digits.py}") == 0
    found = open_truth("digits", Dataset(source="digits.py"), project, project / "prepared" / "digits")
    assert found.density is None


def outliers_of(project: Path, name: str) -> dict[str, str]:
    return json.loads((project / "prepared" / name / "outliers.json").read_text(encoding="utf-8"))


def test_outliers_are_the_test_images_of_another_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNVERIFIED, "1")
    write_idx(project / "files" / "mnist")
    other = write_idx(project / "files" / "fashion_mnist", test=30)
    shutil.copyfile(PACKAGE / "data" / "fashion_mnist.py", project / "fashion_mnist.py")
    assert prepare(project, "mnist", "{source: mnist.py, train: 40, test: 25}") == 0
    folder = project / "prepared" / "mnist"
    plain = {name: (folder / name).read_bytes() for name in ("train.npy", "facts.json", "source.json")}
    assert not (folder / "outliers.json").exists()
    assert prepare(project, "mnist", "{source: mnist.py, train: 40, test: 25, outliers: fashion_mnist.py}") == 0
    kept = np.load(folder / "outliers.npy")
    everything = other["t10k-images-idx3-ubyte"][:, None]
    assert kept.shape == (25, 1, 28, 28)
    assert all((everything == one).all((1, 2, 3)).any() for one in kept)
    rows, what = read_outliers(folder)
    assert what == "fashion_mnist"
    assert float(rows.min()) >= -1
    assert outliers_of(project, "mnist")["files"].keys() == {"fashion_mnist.py"}
    # What training depends on is the same, byte for byte.
    assert plain == {name: (folder / name).read_bytes() for name in plain}


def test_outliers_whose_files_are_not_here_are_a_reason_and_nothing_is_downloaded(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(UNVERIFIED, "1")
    monkeypatch.setattr("ebmbench.data.common.files.download", lambda *_: pytest.fail("it was downloaded"))
    write_idx(project / "files" / "mnist")
    shutil.copyfile(PACKAGE / "data" / "cifar10.py", project / "cifar10.py")
    assert prepare(project, "mnist", "{source: mnist.py, train: 40, test: 20, outliers: cifar10.py}") == 0
    reason = outliers_of(project, "mnist")["reason"]
    assert "cifar10: its files are not here" in reason
    assert "`dvc repro --force prepare@mnist` looks again" in reason
    assert reason in capsys.readouterr().err
    assert read_outliers(project / "prepared" / "mnist") == (None, reason)


def test_outliers_of_another_form_and_without_a_source_are_refused_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(project / "large.npy", grey(50, 0, 9, 9))
    for outliers, words in {
        "large.npy": r"datasets.digits.outliers: found images of 256 grey values, shape [1, 9, 9]",
        "none.npy": "datasets.digits.outliers: found 'none.npy', but there is no such file",
        "../x.npy": "datasets.digits.outliers",
        "work/x.npy": "allowed: a path outside of work/",
    }.items():
        assert prepare(project, "digits", f"{{source: digits.py, outliers: {outliers}}}") == 2
        printed = capsys.readouterr().err
        assert words in printed
        assert printed.count("\n") == 1


def test_the_source_of_outliers_is_an_input_of_the_stage_that_reads_it() -> None:
    """`dvc.yaml` cannot name it, so the record does: `ebmbench run` compares it with the file."""
    root = PACKAGE.parent
    own = load_params(root)
    entry = own.datasets["digits"].model_copy(update={"outliers": "ebmbench/data/mnist.py"})
    with pytest.MonkeyPatch.context() as patch:
        changed = own.model_copy(update={"datasets": {**own.datasets, "digits": entry}})
        patch.setattr("ebmbench.stages.inputs.load_params", lambda _: changed)
        assert "ebmbench/data/mnist.py" in read_inputs(root, "prepare@digits").inputs
        assert "ebmbench/data/mnist.py" not in read_inputs(root, "prepare@two_moons").inputs
