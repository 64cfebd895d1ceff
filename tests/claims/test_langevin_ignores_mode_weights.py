"""What the score knows of the weights, and samplers that would flip the claim."""

import numpy as np
import pytest
import torch

from ebmbench.claims import langevin_ignores_mode_weights as claim
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.core.energy import conditional, score
from ebmbench.core.streams import stream
from ebmbench.data import unbalanced
from ebmbench.data.common.densities import Mixture

UNEVEN = unbalanced.density()
EVEN = Mixture(UNEVEN.centres, torch.ones(2), UNEVEN.deviation)


def test_near_a_mode_the_score_knows_nothing_of_the_weights_until_it_is_smoothed() -> None:
    x = UNEVEN.sample(1000, stream(9000, "x")).double()
    narrow, wide = (
        (score(claim.Ladder(UNEVEN).given(sigma), x) - score(claim.Ladder(EVEN).given(sigma), x)).norm(dim=1)
        / score(claim.Ladder(EVEN).given(sigma), x).norm(dim=1)
        for sigma in (torch.ones(1000), torch.full((1000,), 20.0))
    )
    assert narrow.median() < 1e-9
    assert wide.median() > 0.1


def test_the_last_level_is_the_density_itself_and_the_first_is_as_wide_as_it_says() -> None:
    sigmas = claim.ANNEALED.ladder()
    assert claim.Ladder(UNEVEN).given(sigmas[-1:]).density.deviation == pytest.approx(UNEVEN.deviation)
    assert claim.Ladder(UNEVEN).given(sigmas[:1]).density.deviation == pytest.approx(20.0)


def test_only_the_ladder_has_levels() -> None:
    assert conditional(claim.Ladder(UNEVEN))
    assert not conditional(claim.Exact(UNEVEN))


def test_the_share_of_exact_draws_is_the_weight() -> None:
    assert claim.lesser(UNEVEN.sample(20_000, stream(9000, "x")), UNEVEN) == pytest.approx(0.2, abs=0.01)
    assert np.isnan(claim.lesser(torch.full((3, 2), torch.nan), UNEVEN))


def test_a_sampler_that_is_right_and_an_annealing_that_is_blind_both_refute_the_claim() -> None:
    shares = {"langevin_uneven": 0.21, "langevin_even": 0.5, "annealed_uneven": 0.48, "annealed_even": 0.5}
    rows = [claim.statistics({"all": {k: np.array(v + 0.001 * seed) for k, v in shares.items()}}) for seed in range(3)]
    for criterion in claim.CLAIM.criteria:
        assert (
            decide_criterion(criterion, [row[criterion.key] + 1e-3 * i for i, row in enumerate(rows)]).verdict
            != "reproduced"
        )
