"""Relative errors of scores that are known to be right, missing, or wrong in one place only."""

import math

import numpy as np
import pytest
import torch

from ebmbench.claims import score_matching_wrong_where_rare as claim
from ebmbench.core.streams import stream
from ebmbench.data import unbalanced
from ebmbench.methods.ssm import sliced_score_matching

DENSITY = unbalanced.density()


def test_the_truth_has_no_error_and_no_score_has_error_one() -> None:
    truth = DENSITY.score(claim.places())
    assert claim.errors(truth, DENSITY) == {"dense": 0.0, "rare": 0.0}
    assert claim.errors(0 * truth, DENSITY) == pytest.approx({"dense": 1.0, "rare": 1.0})


def test_the_regions_are_the_modes_and_what_is_far_from_both() -> None:
    """A score that is right next to the modes alone: the nearer mode's pull, without the other's."""
    x = claim.places()
    near = torch.cdist(x, DENSITY.centres).amin(1)
    found = claim.errors(torch.where((near < 2.6)[:, None], DENSITY.score(x), torch.zeros_like(x)), DENSITY)
    assert found == pytest.approx({"dense": 0.0, "rare": 1.0}, abs=0.02)


def test_a_method_that_is_right_everywhere_refutes_the_claim() -> None:
    rule = {criterion.key: criterion for criterion in claim.CLAIM.criteria}
    found = claim.statistics({"all": {"dense": np.array(0.01), "rare": np.array(0.012)}})
    assert found["dense"] < rule["dense"].bound
    assert found["rare"] < rule["rare"].bound
    assert found["ratio"] < rule["ratio"].bound


def test_the_loss_hardly_sees_an_error_between_the_modes() -> None:
    """Swapping the weights of the modes changes the score by up to its own size between them, and nothing elsewhere."""
    swapped = unbalanced.density()
    swapped.weights = swapped.weights.flip(0)
    x = DENSITY.sample(20_000, stream(9000, "x")).double()
    directions = 2.0 * torch.randint(2, (1, *x.shape), generator=stream(9000, "v")).double() - 1
    losses = [sliced_score_matching(lambda u, d=d: -d.log_prob(u), x, directions, True) for d in (DENSITY, swapped)]
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-6)
    middle = torch.tensor([[-0.05, -0.05]], dtype=torch.float64)
    change = (DENSITY.score(middle) - swapped.score(middle)).norm() / DENSITY.score(middle).norm()
    assert change > math.sqrt(0.25)
