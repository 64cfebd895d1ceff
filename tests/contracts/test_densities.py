"""Every embedded dataset of the plane has an exact density: it integrates to one, its score is its gradient."""

import math

import pytest
import torch

from ebmbench.config.registry import describe, load, names
from ebmbench.core.streams import stream

EXACT = [name for name in names("data") if hasattr(load("data", name), "density")]
DATASETS = [name for name in EXACT if not getattr(load("data", name), "BINARY", False)]
TABLES = [name for name in EXACT if name not in DATASETS]
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def density(name: str):
    return load("data", name).density()


def points(name: str, count: int = 200, spread: float = 2.0) -> torch.Tensor:
    x = density(name).sample(count, stream(0, "points", name)).double()
    return x + spread * torch.randn(x.shape, generator=stream(1, "points", name), dtype=torch.float64)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_it_integrates_to_one(name: str, sigma: float) -> None:
    p, step = density(name).smoothed(sigma), 0.05
    reach = float(p.centres.abs().max()) + 6  # no deviation is much above 1
    axis = torch.arange(-reach, reach, step, dtype=torch.float64) + step / 2
    grid = torch.cartesian_prod(axis, axis)
    mass = sum(float(p.log_prob(chunk).exp().sum()) for chunk in grid.split(50_000)) * step**2
    assert mass == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", DATASETS)
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    x = points(name).requires_grad_(True)
    p = density(name)
    (gradient,) = torch.autograd.grad(p.log_prob(x).sum(), x)
    torch.testing.assert_close(p.score(x.detach()), gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", DATASETS)
def test_log_densities_are_finite_far_away(name: str) -> None:
    x = torch.tensor([[300.0, -300.0], [-50.0, 0.0]], dtype=torch.float64)
    assert torch.isfinite(density(name).log_prob(x)).all()
    assert torch.isfinite(density(name).score(x)).all()


@pytest.mark.parametrize("name", DATASETS)
def test_samples_have_the_mean_score_zero_and_the_right_entropy_up_to_chance(name: str) -> None:
    p = density(name)
    a, b = (p.sample(20_000, stream(seed, "entropy")).double() for seed in (0, 1))
    scores = p.score(a)
    assert (scores.mean(0).abs() < 5 * scores.std(0) / math.sqrt(len(a))).all()
    gap = float(p.log_prob(a).mean() - p.log_prob(b).mean())
    assert abs(gap) < 5 * float(p.log_prob(a).std()) * math.sqrt(2 / len(a))


@pytest.mark.parametrize("name", DATASETS)
def test_smoothing_is_adding_noise(name: str) -> None:
    p = density(name)
    x = p.sample(40_000, stream(0, "smooth")).double()
    noisy = x + 0.5 * torch.randn(x.shape, generator=stream(1, "smooth"), dtype=torch.float64)
    own = p.smoothed(0.5).sample(40_000, stream(2, "smooth")).double()
    q = p.smoothed(0.5)
    error = float(q.log_prob(own).std()) * math.sqrt(2 / len(own))
    assert abs(float(q.log_prob(noisy).mean() - q.log_prob(own).mean())) < 5 * error


@pytest.mark.parametrize("name", DATASETS)
def test_modes_are_inside_and_weights_sum_to_one(name: str) -> None:
    p = density(name)
    assert p.centres.shape == (len(p.weights), 2)
    assert float(p.weights.sum()) == pytest.approx(1)
    assert float(p.log_prob(p.centres).min()) > float(p.log_prob(p.centres).max()) - 3


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_mass_one_and_draws_as_it_says(name: str) -> None:
    p = density(name)
    x = p.sample(20_000, stream(0, "table"))
    log_p = p.log_prob(p.events())
    assert float(log_p.exp().sum()) == pytest.approx(1, abs=1e-12)
    assert torch.equal(p.log_prob(p.events()), p.log_p)
    means = (p.events() * log_p.exp().reshape(-1, 1, 1, 1)).sum(0)
    assert (x.double().mean(0) - means).abs().max() < 5 * 0.5 / math.sqrt(len(x))
    inside = torch.where(log_p.isfinite(), log_p.exp() * log_p, 0.0)
    drawn = p.log_prob(x)
    assert abs(float(drawn.mean() - inside.sum())) < 5 * float(drawn.std()) / math.sqrt(len(x))


@pytest.mark.parametrize("name", EXACT)
def test_it_cites_a_source(name: str) -> None:
    assert len(describe("data", name).paper) > 20


def test_the_boards_and_circles_are_where_the_text_says() -> None:
    eight, board = density("eight_gaussians"), density("checkerboard")
    assert torch.allclose(eight.centres.norm(dim=1), torch.full((8,), 2.0, dtype=torch.float64))
    assert len(board.centres) == 8
    inside = torch.tensor([[-3.0, -3.0], [-3.0, -1.0]], dtype=torch.float64)
    filled, empty = board.log_prob(inside).exp().tolist()
    assert filled == pytest.approx(1 / 32)
    assert empty < 1e-12
    assert density("unbalanced").weights.tolist() == pytest.approx([0.2, 0.8])
