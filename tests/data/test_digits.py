"""Digits: the split is fixed, whole and stratified; in black and white by a threshold, or by chance."""

import hashlib
from pathlib import Path

import pytest
import torch

from ebmbench.data import binary_digits, digits, drawn_digits
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


def test_black_and_white_is_from_half_of_the_brightest_on(tmp_path: Path) -> None:
    grey, found = (source.images(files("digits", tmp_path, train=5000)) for source in (digits, binary_digits))
    assert found.levels == 2
    assert torch.equal(found.train, (grey.train >= 8).to(torch.uint8))


def test_drawn_pixels_are_on_as_often_as_their_grey_value_says_and_always_the_same(tmp_path: Path) -> None:
    grey = digits.images(files("digits", tmp_path, train=5000)).train
    first, second = (drawn_digits.images(files("digits", tmp_path, train=5000)) for _ in range(2))
    assert first.levels == 2
    assert torch.equal(first.train, second.train)
    for value in range(17):
        drawn, share = first.train[grey == value].double(), value / 16
        assert abs(float(drawn.mean()) - share) <= 4 * (share * (1 - share) / len(drawn)) ** 0.5
