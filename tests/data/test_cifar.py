"""CIFAR-10: both formats give the same images, and no pickle runs a program."""

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmbench.core.pickles import NotPlain
from ebmbench.data import cifar10
from ebmbench.data.images.batches import read_batch
from ebmbench.errors import UserError
from tests.data.originals import cifar_batches, cifar_pickle_bytes, cifar_record_bytes, files, write_tar

pytestmark = pytest.mark.usefixtures("untouched_global_generator")
FORMS = ["binary archive", "binary files", "python archive", "python files"]


def write(form: str, root: Path) -> None:
    kind, _, packed = form.partition(" ")
    suffix, encode = (".bin", cifar_record_bytes) if kind == "binary" else ("", cifar_pickle_bytes)
    folder = f"cifar-10-batches-{'bin' if kind == 'binary' else 'py'}"
    contents = {f"{folder}/{name}{suffix}": encode(*batch) for name, batch in cifar_batches().items()}
    if packed == "archive":
        write_tar(root / f"cifar-10-{kind}.tar.gz", contents | {f"{folder}/readme.html": b"read me"})
        return
    for name, body in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(body)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", [".", "cifar10"])
def test_every_form_gives_the_same_images(tmp_path: Path, form: str, layout: str) -> None:
    write(form, tmp_path / layout)
    images = cifar10.images(files("cifar10", tmp_path))
    batches = cifar_batches()
    pixels = np.concatenate([batches[f"data_batch_{number}"][0] for number in range(1, 6)])
    np.testing.assert_array_equal(images.train.numpy(), pixels.reshape(40, 3, 32, 32))
    np.testing.assert_array_equal(images.test.numpy(), batches["test_batch"][0].reshape(8, 3, 32, 32))
    assert images.test_labels is not None
    assert images.test_labels.tolist() == list(range(8))
    assert images.test_labels.dtype == torch.int64


def test_our_pickles_are_what_python_reads() -> None:
    pixels, labels = cifar_batches()["test_batch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy: the module that Python 2's pickles name has moved
        batch = pickle.loads(cifar_pickle_bytes(pixels, labels), encoding="latin1")
    np.testing.assert_array_equal(batch["data"], pixels)
    np.testing.assert_array_equal(read_batch(cifar_pickle_bytes(pixels, labels))[0], pixels)


class Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.marker),)


def test_a_pickle_that_runs_a_program_is_refused(tmp_path: Path) -> None:
    harmless, harmful = tmp_path / "control", tmp_path / "ran"
    pickle.loads(pickle.dumps({"data": Evil(harmless)}))
    assert harmless.is_dir()  # such a pickle does run
    with pytest.raises(NotPlain, match=r"asks for posix\.mkdir|asks for nt\.mkdir"):
        read_batch(pickle.dumps({"data": Evil(harmful), "labels": []}, protocol=2))
    assert not harmful.exists()


@pytest.mark.parametrize("name", ["builtins\neval", "numpy\nload", "numpy.core.multiarray\nfromfile", "os\nsystem"])
def test_no_other_name_is_known(name: str) -> None:
    with pytest.raises(NotPlain, match="refused"):
        read_batch(b"\x80\x02c" + name.encode() + b"\n.")


def test_a_malicious_batch_is_one_line_for_the_user(tmp_path: Path) -> None:
    write("python files", tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_3").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    with pytest.raises(UserError, match=r"not whole CIFAR-10 batches \(refused: .*mkdir"):
        cifar10.images(files("cifar10", tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("form", ["binary files", "python files"])
def test_a_short_batch_is_one_line(tmp_path: Path, form: str) -> None:
    write(form, tmp_path)
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
        ("binary files", r"data_batch_1\.bin: found no published MD5 sum"),
    ],
)
def test_every_form_is_checked(tmp_path: Path, form: str, reason: str) -> None:
    write(form, tmp_path)
    with pytest.raises(UserError, match=reason):
        cifar10.images(files("cifar10", tmp_path, verify=True))
