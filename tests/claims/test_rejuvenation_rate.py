"""Entropy of known classes, probes that differ in one thing only, and what each part of the claim answers to."""

import math

import numpy as np
import pytest
import torch

from ebmbench.claims.rejuvenation_rate import RATES, entropy, probes, statistics
from ebmbench.data.common.images import image_facts
from ebmbench.experiment.data import Data


def test_entropy_is_one_for_all_classes_and_nothing_for_one() -> None:
    assert entropy(torch.arange(10).repeat(5), 10) == pytest.approx(1)
    assert entropy(torch.zeros(50, dtype=torch.int64), 10) == 0


def test_shuffled_images_have_the_pixels_of_the_images() -> None:
    levels = torch.randint(17, (20, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    x = levels.float() / 8 - 1
    facts = image_facts("small", levels, levels, 17, licence="CC0-1.0", hash="none", classes=["a"])
    images, shuffled, noise = probes(Data(x, x, facts), 9000).split(20)
    assert torch.equal(images, x)
    assert torch.equal(shuffled.flatten(1).sort(1).values, x.flatten(1).sort(1).values)
    assert not torch.equal(shuffled, x)
    assert noise.abs().max() <= 1


def test_each_part_answers_to_its_own_numbers() -> None:
    arms = {rate: {"spread": np.array(3.0), "short_fid": np.array(2.0), "long_fid": np.array(2.0)} for rate in RATES}
    assert statistics(arms) == {"trivial": 0, "collapse": 0, "best": 0}
    arms["0"]["spread"] = np.array(0.03)
    arms["1"]["long_fid"] = np.array(8.0)
    arms["0.1"]["long_fid"] = np.array(0.5)
    found = statistics(arms)
    assert found["trivial"] == pytest.approx(math.log(0.01))
    assert found["collapse"] == pytest.approx(math.log(4))
    assert found["best"] == pytest.approx(math.log(1.0 / 2.0))  # √(0.5 · 2) against 2, the better end
