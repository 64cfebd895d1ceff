"""On the curve the loss has no lower bound, with noise it has the one that is told, and the statistics see it."""

import math

import numpy as np
import pytest
import torch

from ebmbench.claims import ssm_on_a_manifold_does_not_settle as claim
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.core.streams import stream
from ebmbench.methods.common.score_matching import draw_directions
from ebmbench.methods.ssm import sliced_score_matching


def test_ever_steeper_walls_around_a_circle_lower_the_loss_without_end() -> None:
    # E = λ(‖x‖ − 1)²/2 has score 0 and curvature −λ across the unit circle.
    t = 2 * math.pi * torch.rand(500, generator=stream(0, "t"), dtype=torch.float64)
    x = torch.stack([t.cos(), t.sin()], dim=1)
    v = draw_directions("rademacher", (50, 500, 2), stream(0, "v")).double()
    losses = [
        sliced_score_matching(lambda y, wall=wall: 0.5 * wall * (y.norm(dim=1) - 1).square(), x, v, True).item()
        for wall in (1.0, 10.0, 100.0)
    ]
    assert losses == pytest.approx([-1.0, -10.0, -100.0], rel=0.02)


def test_the_curve_is_one_dimensional_and_white() -> None:
    x = claim.on_the_curve(20_000, stream(0, "x"))
    assert x.shape == (20_000, 10)
    assert torch.allclose(x.T @ x / len(x), 0.5 * torch.eye(10), atol=0.02)
    assert torch.allclose(x.square().sum(1), torch.full((20_000,), 5.0), atol=1e-4)


def test_with_noise_the_bound_is_half_of_codimension_over_variance() -> None:
    assert claim.lowest(0.02, stream(0, "x")) == pytest.approx(-0.5 * 9 / 0.02**2, rel=0.08)


def arms(bare: np.ndarray, noisy: np.ndarray) -> Arms:
    return {"without": {"loss": bare}, "with": {"loss": noisy}}


def verdicts(*of: Arms) -> dict[str, str]:
    rows = [claim.statistics(one) for one in of]
    return {c.key: decide_criterion(c, [row[c.key] for row in rows], 3).verdict for c in claim.CLAIM.criteria}


def test_a_loss_that_falls_and_one_that_rests_are_told_apart() -> None:
    rng, t = np.random.default_rng(0), np.arange(200.0)
    falling = [-10 * t * (1 + 0.1 * rng.standard_normal(200)) - 1 for _ in range(4)]
    resting = [-100 * (1 - np.exp(-t / 10)) + rng.standard_normal(200) for _ in range(4)]
    assert set(verdicts(*map(arms, falling, resting)).values()) == {"reproduced"}
    assert set(verdicts(*map(arms, resting, falling)).values()) == {"not reproduced"}
    assert claim.fluctuation(-5 * t) == pytest.approx(0, abs=1e-9)
