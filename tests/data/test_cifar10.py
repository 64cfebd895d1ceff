"""CIFAR-10: both formats give the same images, and no pickle is opened without its published sum."""

import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmbench.data import cifar10
from ebmbench.errors import UserError
from tests.data.originals import cifar_batches, cifar_pickle_bytes, cifar_record_bytes, files, write_tar

pytestmark = pytest.mark.usefixtures("untouched_global_generator")
FORMS = ["binary archive", "binary files", "python archive", "python files"]
PICKLED = FORMS[2:]


def write(form: str, root: Path, **replaced: bytes) -> dict[str, str]:
    """Write small batches, some of them `replaced`, and give a table of sums in which these files are published."""
    kind, _, packed = form.partition(" ")
    suffix, encode = (".bin", cifar_record_bytes) if kind == "binary" else ("", cifar_pickle_bytes)
    folder = f"cifar-10-batches-{'bin' if kind == 'binary' else 'py'}"
    bodies = {name: replaced.get(name, encode(*batch)) for name, batch in cifar_batches().items()}
    contents = {f"{folder}/{name}{suffix}": body for name, body in bodies.items()}
    if packed == "archive":
        write_tar(root / f"cifar-10-{kind}.tar.gz", contents | {f"{folder}/readme.html": b"read me"})
    else:
        for name, body in contents.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(body)
    archives = {path.name: path.read_bytes() for path in root.glob("*.tar.gz")}
    records = {f"{name}.bin": hashlib.sha256(body).hexdigest() for name, body in bodies.items()}
    return cifar10.SUMS | records | {name: hashlib.md5(body).hexdigest() for name, body in (bodies | archives).items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", [".", "cifar10"])
def test_every_form_gives_the_same_images(tmp_path: Path, form: str, layout: str) -> None:
    md5 = write(form, tmp_path / layout)
    images = cifar10.read(files("cifar10", tmp_path, verify=True), md5)
    batches = cifar_batches()
    pixels = np.concatenate([batches[f"data_batch_{number}"][0] for number in range(1, 6)])
    np.testing.assert_array_equal(images.train.numpy(), pixels.reshape(40, 3, 32, 32))
    np.testing.assert_array_equal(images.test.numpy(), batches["test_batch"][0].reshape(8, 3, 32, 32))
    assert images.train.is_contiguous()
    assert images.test_labels is not None
    assert images.test_labels.tolist() == list(range(8))
    assert images.test_labels.dtype == torch.int64


class Evil:
    """A pickle that makes a folder when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


def hostile(folder: Path) -> bytes:
    return pickle.dumps({"data": Evil(folder), "labels": []}, protocol=2)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("form", PICKLED)
def test_a_pickle_without_the_published_sum_is_never_read(tmp_path: Path, form: str, verify: bool) -> None:
    write(form, tmp_path, data_batch_3=hostile(tmp_path / "ran"))
    with pytest.raises(UserError, match="found MD5") as raised:
        cifar10.images(files("cifar10", tmp_path, verify=verify))
    assert "\n" not in str(raised.value)
    assert verify or "a pickle is a program" in str(raised.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("form", PICKLED)
def test_one_wrong_sum_keeps_every_pickle_from_being_read(tmp_path: Path, form: str) -> None:
    md5 = write(form, tmp_path, data_batch_1=hostile(tmp_path / "ran"))
    with pytest.raises(UserError, match=r"found MD5|not whole CIFAR-10 batches"):
        cifar10.read(files("cifar10", tmp_path, verify=False), md5 | {"test_batch": "0" * 32})
    assert not (tmp_path / "ran").exists()
    with pytest.raises(UserError, match="not whole CIFAR-10 batches"):
        cifar10.read(files("cifar10", tmp_path), md5)
    assert (tmp_path / "ran").exists()  # with the right sums it would have run


def test_the_sums_are_those_that_torchvision_publishes() -> None:
    from ebmbench.core.torch_compat import torchvision

    dataset = torchvision().datasets.CIFAR10
    published = dict([*dataset.train_list, *dataset.test_list, (dataset.filename, dataset.tgz_md5)])
    assert {name: cifar10.MD5[name] for name in published} == published


def test_a_short_batch_is_one_line(tmp_path: Path) -> None:
    write("binary files", tmp_path)
    (file,) = tmp_path.rglob("data_batch_2*")
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(UserError, match="not whole CIFAR-10 batches"):
        cifar10.images(files("cifar10", tmp_path))


def test_a_short_archive_is_one_line(tmp_path: Path) -> None:
    write("binary archive", tmp_path)
    file = tmp_path / "cifar-10-binary.tar.gz"
    file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(UserError, match="not whole CIFAR-10 batches"):
        cifar10.images(files("cifar10", tmp_path))


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("binary archive", r"cifar-10-binary\.tar\.gz: .*expected c32a1d4a"),
        ("python archive", r"cifar-10-python\.tar\.gz: .*expected c58f3010"),
        ("python files", r"data_batch_1: .*expected c99cafc1"),
        ("binary files", r"data_batch_1\.bin: .*found SHA256 .*expected cee91656"),
    ],
)
def test_every_form_is_checked(tmp_path: Path, form: str, reason: str) -> None:
    write(form, tmp_path)
    with pytest.raises(UserError, match=reason):
        cifar10.images(files("cifar10", tmp_path, verify=True))
