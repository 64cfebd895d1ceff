"""Noise-contrastive estimation: what must hold exactly."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, MultivariateNormal, Normal

from ebmbench.core.streams import stream
from ebmbench.methods.nce import noise_contrastive
from tests.identities.quadrature import line, population

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


@pytest.mark.parametrize("nu", [1, 5])
def test_on_an_exponential_family_the_optimal_constant_is_log_z(nu: int) -> None:
    """Data N(0, ½) against N(0, 1) noise, expectations by quadrature: the optimum has E = θx²/2, θ = 2, c = log Z."""
    nodes, distance = line(9.0, 361)
    log_noise = Independent(Normal(torch.zeros(1).double(), torch.ones(1).double()), 1).log_prob
    p_data = torch.softmax(-nodes[:, 0].square() / (2 * 0.5), 0)
    theta, c = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
    optimiser = torch.optim.LBFGS([theta, c], max_iter=200, tolerance_grad=1e-14, tolerance_change=1e-16)

    def objective(x: Tensor, noise: Tensor) -> Tensor:
        return noise_contrastive(lambda u: 0.5 * theta * u[:, 0].square(), c, x, noise.repeat(nu, 1), log_noise)

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = population(objective, nodes, p_data, log_noise(nodes).exp() * distance)
        value.backward()
        return value

    optimiser.step(loss)
    assert theta.item() == pytest.approx(2.0, abs=1e-6)
    assert c.item() == pytest.approx(0.5 * math.log(2 * math.pi / 2.0), abs=1e-6)


def test_with_much_noise_the_gradient_is_that_of_the_likelihood() -> None:
    """A model on five points with c = log Z; events repeat as often as the probabilities say, so means are exact.

    The classifier's weights νp_n/(p_θ + νp_n) and νp_θ/(p_θ + νp_n) are 1 and p_θ/p_n up to a part in ν.
    """
    places = torch.linspace(-1, 1, 5, dtype=torch.float64)
    data, noise = (places.repeat_interleave(torch.tensor(n))[:, None] for n in ([1, 4, 2, 2, 1], [2, 1, 3, 2, 2]))
    log_p_n = torch.tensor([0.2, 0.1, 0.3, 0.2, 0.2], dtype=torch.float64).log()
    theta = torch.tensor([0.5, -1.0, 0.8], dtype=torch.float64, requires_grad=True)

    def energy(x: Tensor) -> Tensor:
        return theta[0] * x[:, 0] + theta[1] * x[:, 0].square() + theta[2] * x[:, 0] ** 3

    log_z = (-energy(places[:, None])).logsumexp(0)
    (exact,) = torch.autograd.grad(energy(data).mean() + log_z, theta)
    errors, ratios = [], [10, 100, 1_000, 10_000]
    for nu in ratios:
        loss = noise_contrastive(energy, log_z.detach(), data, noise.repeat(nu, 1), lambda x: log_p_n[index(x)])
        errors.append((torch.autograd.grad(loss, theta)[0] - exact).norm().item())
    assert np.polyfit(np.log(ratios), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.1)
    assert errors[-1] < 1e-3 * exact.norm().item()


def index(x: Tensor) -> Tensor:
    """Which of the five points."""
    return (2 * x[:, 0] + 2).round().long()
