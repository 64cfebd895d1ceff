"""Exact draws are at the level of exact draws, and a sampler whose rule is broken is not."""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.claims import metropolis_draws_the_examples as claim
from ebmbench.core.energy import by_autograd
from ebmbench.core.streams import stream
from ebmbench.samplers import random_walk

LIMIT = claim.CLAIM.criteria[0].bound


def exact(arm: str, count: int) -> Tensor:
    normal = torch.randn(count, 2, generator=stream(9000, arm), dtype=torch.float64)
    if arm == "banana":
        x = normal[:, 0] / math.sqrt(2 * claim.A)
        return torch.stack([x, x.square() + normal[:, 1] / math.sqrt(2)], dim=1)
    left = torch.rand(count, generator=stream(9000, "side"), dtype=torch.float64) < 0.6
    return torch.where(left, normal[:, 0] - 2, 4 + 2 * normal[:, 0])[:, None]


@pytest.mark.parametrize("arm", ["bumps", "banana"])
def test_exact_draws_have_the_distance_of_exact_draws(arm: str) -> None:
    u, cells = claim.uniform(arm, exact(arm, 100_000)), claim.PLANS[arm][2]
    ratios = [claim.distance(part, cells) for part in u.split(5000)]
    assert sum(ratios) / len(ratios) == pytest.approx(1, abs=0.07)


def test_the_bumps_are_the_mixture_that_their_distribution_function_says() -> None:
    x = torch.linspace(-9, 13, 5, dtype=torch.float64)[:, None].requires_grad_(True)
    (slope,) = torch.autograd.grad(claim.uniform("bumps", x).sum(), x)
    density = (-claim.bumps(x.detach())).exp() / (5 * math.sqrt(2 * math.pi))
    torch.testing.assert_close(slope[:, 0], density)


def test_the_bananas_score_is_that_of_its_energy_and_its_density_that_of_its_distribution_function() -> None:
    x, banana = exact("banana", 20), claim.Banana()
    energy, slope = by_autograd(banana, x)
    torch.testing.assert_close(banana.energy_and_score(x), (energy, slope))
    jacobian = torch.vmap(torch.func.jacrev(lambda one: claim.uniform("banana", one[None])[0]))(x)
    torch.testing.assert_close(
        torch.linalg.det(jacobian).log() + energy,
        torch.full((20,), 0.5 * math.log(claim.A) - math.log(math.pi)).double(),
    )


def test_lost_draws_count() -> None:
    u = torch.rand(1000, 1, generator=stream(9000, "u"), dtype=torch.float64)
    u[:500] = torch.nan
    assert claim.distance(u, 10) > 10


def test_a_walk_that_accepts_too_much_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def hot(difference: Tensor, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
        return torch.rand(len(difference), generator=generator, dtype=dtype).log() < difference / 1.3

    monkeypatch.setitem(claim.PLANS, "bumps", (300, 5, 40))
    right = claim.drawn("bumps", claim.RULED["bumps"], stream(9000, "chain"))
    monkeypatch.setattr(random_walk, "draw_acceptance", hot)
    wrong = claim.drawn("bumps", claim.RULED["bumps"], stream(9000, "chain"))
    found = [claim.distance(claim.uniform("bumps", x), 40) for x in (right, wrong)]
    assert found[0] < LIMIT < found[1]
