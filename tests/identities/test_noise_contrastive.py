"""Noise-contrastive estimation: what must hold exactly."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from ebmbench.core.streams import stream
from ebmbench.methods.nce import noise_contrastive

NORMAL = MultivariateNormal(torch.zeros(2).double(), torch.eye(2).double())


def draw(seed: int, count: int = 1000) -> torch.Tensor:
    return torch.randn(count, 2, generator=stream(seed, "draw"), dtype=torch.float64)


def test_nce_of_equal_distributions_is_a_coin_toss() -> None:
    loss = noise_contrastive(lambda x: -NORMAL.log_prob(x), torch.zeros(()), draw(0), draw(1), NORMAL.log_prob)
    assert loss.item() == pytest.approx(2 * math.log(2), abs=1e-12)


def test_with_more_noise_the_coin_is_loaded_as_the_ratio_says() -> None:
    nu = 4
    noise = draw(1, nu * 1000)
    loss = noise_contrastive(lambda x: -NORMAL.log_prob(x), torch.zeros(()), draw(0), noise, NORMAL.log_prob)
    expected = math.log(1 + nu) + nu * math.log(1 + 1 / nu)
    assert loss.item() == pytest.approx(expected, abs=1e-12)


def test_the_constant_is_not_told_from_a_shift_of_the_energy() -> None:
    x, y = draw(0), draw(1)
    shifted = noise_contrastive(lambda x: x.square().sum(1) + 0.7, torch.tensor(0.3).double(), x, y, NORMAL.log_prob)
    plain = noise_contrastive(lambda x: x.square().sum(1), torch.tensor(0.3).double() + 0.7, x, y, NORMAL.log_prob)
    assert shifted.item() == pytest.approx(plain.item(), abs=1e-12)


def test_on_an_exponential_family_the_optimal_constant_is_log_z() -> None:
    """Data N(0, 1/θ) against N(0, 1) noise, expectations by quadrature: the optimum has E = θx²/2 and c = log Z."""
    x = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000 * 24 - 12
    cell = 24 / 4000
    log_noise = -0.5 * x.square() - 0.5 * math.log(2 * math.pi)
    p_data = torch.exp(-x.square() / (2 * 0.5)) / math.sqrt(2 * math.pi * 0.5)
    theta, c = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
    optimiser = torch.optim.LBFGS([theta, c], max_iter=200, tolerance_grad=1e-14, tolerance_change=1e-16)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        logits = -0.5 * theta * x.square() - c - log_noise
        softplus = torch.nn.functional.softplus
        value = (p_data * softplus(-logits) + log_noise.exp() * softplus(logits)).sum() * cell
        value.backward()
        return value

    optimiser.step(loss)
    assert theta.item() == pytest.approx(2.0, abs=1e-6)
    assert c.item() == pytest.approx(0.5 * math.log(2 * math.pi / 2.0), abs=1e-6)
