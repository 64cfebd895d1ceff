"""The slopes that decide, and images that are enlarged and reduced again."""

import numpy as np
import pytest
import torch

from ebmbench.claims.fid_grows_with_interval import CLAIM, INTERVALS, PUBLISHED, slope, statistics
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.claims.testing.digits_protocol import enlarged, reduced
from ebmbench.core.dataset import from_levels
from ebmbench.data.common.images import image_facts
from ebmbench.experiment.data import Data


def test_a_power_law_has_its_exponent_as_slope() -> None:
    assert slope([3 * k**0.4 for k in INTERVALS]) == pytest.approx(0.4)


def test_what_is_expected_is_the_slope_of_the_published_table() -> None:
    for criterion in CLAIM.criteria:
        assert slope(PUBLISHED[criterion.key]) == pytest.approx(criterion.expected, abs=0.005)


def test_a_method_that_ignores_its_interval_refutes_the_claim() -> None:
    noise = np.random.default_rng(0)
    arms = [
        {str(k): {key: np.array(5 * np.exp(0.02 * noise.normal())) for key in PUBLISHED} for k in INTERVALS}
        for _ in range(CLAIM.seeds)
    ]
    rows = [statistics(one) for one in arms]
    for criterion in CLAIM.criteria:
        assert decide_criterion(criterion, [row[criterion.key] for row in rows], 2).verdict == "not reproduced"


def test_reduced_undoes_enlarged() -> None:
    levels = torch.randint(17, (30, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    facts = image_facts("small", levels, levels, 17, licence="CC0-1.0", hash="none", classes=["a"])
    small = Data(from_levels(levels, 17), from_levels(levels, 17), facts)
    large = enlarged(small, 4)
    assert large.train.shape == (30, 1, 32, 32)
    assert large.facts.shape == [1, 32, 32]
    assert large.facts.hash != facts.hash
    torch.testing.assert_close(reduced(large.train, 4), small.train)


def test_reduced_keeps_chains_that_ran_away_inside_the_box() -> None:
    wild = torch.full((1, 1, 4, 4), float("nan"))
    wild[0, 0, :2] = 1e30
    assert reduced(wild, 2).flatten().tolist() == [1.0, 1.0, 0.0, 0.0]
