"""MNIST and Fashion-MNIST: every layout, plain or packed, and the real files where a machine has them."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.data import fashion_mnist, mnist
from ebmbench.data.common.files import Files
from ebmbench.errors import UserError
from ebmbench.workspace.layout import DATA_ROOT
from tests.data.originals import files, write_idx

pytestmark = pytest.mark.usefixtures("untouched_global_generator")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", [".", "mnist", "MNIST/raw", "mnist/MNIST/raw"])
def test_files_are_found_in_every_layout(tmp_path: Path, layout: str, packed: bool) -> None:
    written = write_idx(tmp_path / layout, packed=packed)
    images = mnist.images(files("mnist", tmp_path))
    assert images.train.shape == (40, 1, 28, 28)
    assert images.train.dtype == torch.uint8
    np.testing.assert_array_equal(images.train[:, 0].numpy(), written["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(images.test[:, 0].numpy(), written["t10k-images-idx3-ubyte"])
    assert images.test_labels is not None
    np.testing.assert_array_equal(images.test_labels.numpy(), written["t10k-labels-idx1-ubyte"])


def test_packed_and_plain_files_may_be_mixed(tmp_path: Path) -> None:
    write_idx(tmp_path)
    write_idx(tmp_path, packed=True)
    (tmp_path / "train-images-idx3-ubyte.gz").unlink()
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    assert len(mnist.images(files("mnist", tmp_path)).train) == 40


def test_a_folder_of_the_dataset_comes_before_files_that_lie_about(tmp_path: Path) -> None:
    write_idx(tmp_path, train=40)
    write_idx(tmp_path / "fashion_mnist", train=30)
    assert len(fashion_mnist.images(files("fashion_mnist", tmp_path)).train) == 30
    assert len(mnist.images(files("mnist", tmp_path)).train) == 40


def test_a_file_of_other_bytes_is_refused_with_both_sums(tmp_path: Path) -> None:
    write_idx(tmp_path)
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte: damaged .* found MD5 \w{32}, expected .*6bbc9ace"):
        mnist.images(files("mnist", tmp_path, verify=True))


@pytest.mark.parametrize("packed", [False, True])
def test_a_short_file_is_one_clear_line_even_if_sums_are_not_checked(tmp_path: Path, packed: bool) -> None:
    write_idx(tmp_path, packed=packed)
    (file,) = tmp_path.glob("train-images*")
    file.write_bytes(file.read_bytes()[:-500])
    with pytest.raises(UserError, match="not whole idx files") as raised:
        mnist.images(files("mnist", tmp_path))
    assert "\n" not in str(raised.value)


def test_a_cap_takes_a_fixed_random_subset_with_its_labels(tmp_path: Path) -> None:
    write_idx(tmp_path)
    whole = mnist.images(files("mnist", tmp_path))
    some = mnist.images(files("mnist", tmp_path, train=10, test=20))
    again = mnist.images(files("mnist", tmp_path, train=10, test=20))
    more = mnist.images(files("mnist", tmp_path, train=15, test=20))
    assert torch.equal(some.train, again.train)
    assert torch.equal(some.test, whole.test)
    assert not torch.equal(some.train, whole.train[:10])
    rows = [(whole.train == image).flatten(1).all(1).nonzero().item() for image in some.train]
    assert whole.train_labels is not None
    assert some.train_labels is not None
    assert torch.equal(some.train_labels, whole.train_labels[rows])
    assert all((more.train == image).flatten(1).all(1).any() for image in some.train)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_real_files_pass_their_checks(name: str, tmp_path: Path) -> None:
    roots = (Path(os.environ[DATA_ROOT]).absolute(),) if os.environ.get(DATA_ROOT) else ()

    def offline(*_: object) -> None:
        pytest.skip(f"the files of {name} are not on this machine (set {DATA_ROOT})")

    real = Files(name, 60_000, 10_000, roots, tmp_path, download=offline)
    images = load("data", name).images(real)
    assert images.train.shape == (60_000, 1, 28, 28)
    assert images.train_labels.bincount().tolist() == (
        [6000] * 10 if name == "fashion_mnist" else [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    )
    # Mean and deviation of MNIST's training pixels are 0.1307 and 0.3081, of Fashion-MNIST's 0.2860 and 0.3530.
    pixels = images.train.float() / 255
    mean, deviation = (0.2860, 0.3530) if name == "fashion_mnist" else (0.1307, 0.3081)
    assert float(pixels.mean()) == pytest.approx(mean, abs=1e-4)
    assert float(pixels.std()) == pytest.approx(deviation, abs=1e-4)
