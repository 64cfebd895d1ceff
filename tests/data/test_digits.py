"""Digits: the split is fixed, whole and stratified."""

import hashlib
from pathlib import Path

import pytest
import torch

from ebmbench.data import digits
from tests.data.originals import files

pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def test_the_split_holds_every_image_once_and_every_class_in_its_share(tmp_path: Path) -> None:
    images = digits.images(files("digits", tmp_path, train=5000))
    assert images.train.shape == (1297, 1, 8, 8)
    assert images.test.shape == (500, 1, 8, 8)
    assert images.levels == 17
    assert int(images.train.max()) == 16
    assert images.train_labels is not None
    assert images.test_labels is not None
    whole = images.train_labels.bincount() + images.test_labels.bincount()
    assert whole.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    share = images.test_labels.bincount() - whole * 500 / 1797
    assert float(share.abs().max()) < 1


def test_the_split_is_always_the_same(tmp_path: Path) -> None:
    first, second = (digits.images(files("digits", tmp_path, train=5000)) for _ in range(2))
    assert torch.equal(first.train, second.train)
    # Written down: a change of the split changes every published number.
    assert hashlib.sha256(first.test.numpy().tobytes()).hexdigest().startswith("021db6d5746b")
