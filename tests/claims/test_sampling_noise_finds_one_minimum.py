"""Noise finds the deep one of two minima, the descent its bottom, and the statistics see how many there are."""

import math

import numpy as np
import pytest
import torch

from ebmbench.claims import sampling_noise_finds_one_minimum as claim
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.core.streams import stream


class Wells(torch.nn.Module):
    """A shallow minimum near −0.5 and one near 0.5 that is deeper by 0.004."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = x.flatten(1)
        return (0.06 * (z.square() - 0.25).square() - 0.004 * z).sum(1)


def test_effective_number_is_ten_for_all_digits_alike_and_one_for_one() -> None:
    assert claim.effective(np.repeat(np.arange(10), 7)) == pytest.approx(10)
    assert claim.effective(np.full(50, 9)) == 1
    assert claim.effective(np.array([3] * 25 + [8] * 75)) == pytest.approx(
        math.exp(0.25 * math.log(4) - 0.75 * math.log(0.75))
    )


def test_more_noise_leaves_the_shallow_minimum_and_the_descent_ends_at_a_bottom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claim, "STEPS", 1500)
    starts = torch.rand(50, 1, 1, 1, generator=stream(0, "x")) * 1.8 - 0.9
    cold, hot = (claim.minima(Wells(), starts, tau, 9000).flatten() for tau in (0.005, 0.05))
    assert 0.4 < (cold > 0).float().mean() < 0.75
    assert (hot > 0).float().mean() > 0.75
    assert torch.allclose(hot.abs(), torch.full((50,), 0.5), atol=0.06)


def arms(digits: list[list[int]], depths: list[float]) -> Arms:
    rng = np.random.default_rng(0)
    energies = np.array(depths)[:, None] + rng.standard_normal((len(depths), 100))
    return {"all": {"digits": np.array(digits), "energies": energies}}


def verdicts(*of: Arms) -> dict[str, str]:
    rows = [claim.statistics(one) for one in of]
    return {c.key: decide_criterion(c, [row[c.key] for row in rows], 3).verdict for c in claim.CLAIM.criteria}


def test_a_funnel_is_told_from_a_landscape_of_all_digits_and_from_one_that_had_one_minimum_all_along() -> None:
    every, one = list(range(10)) * 10, [9] * 95 + [1] * 5
    funnel = [arms([every, one], [0.0, -1.0 - 0.1 * i]) for i in range(3)]
    assert set(verdicts(*funnel).values()) == {"reproduced"}
    even = [arms([every, every], [0.0, 1.0 + 0.1 * i]) for i in range(3)]
    assert (verdicts(*even)["few"], verdicts(*even)["deeper"]) == ("not reproduced", "not reproduced")
    collapsed = [arms([one, one], [0.0, -1.0 - 0.1 * i]) for i in range(3)]
    assert verdicts(*collapsed)["control"] == "not reproduced"
