"""Conditional noise-contrastive estimation: what must hold exactly."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods.cnce import Method, Settings, conditional_noise_contrastive
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network
from tests.identities.quadrature import line, normal

SIGMAS = [0.1, 0.05, 0.02, 0.01]


def expected(energy: nn.Module, x: Tensor, sigma: float) -> Tensor:
    """The expectation over the noise of one datum `(1, 2)`, by Gauss–Hermite quadrature."""
    nodes = zip(*normal(10, 2), strict=True)
    return torch.stack([w * conditional_noise_contrastive(energy, x, z[None], sigma) for z, w in nodes]).sum()


def implicit(energy: nn.Module, x: Tensor) -> Tensor:
    """½‖s‖² + tr ∇s of one event, from a whole Hessian."""
    slope = torch.func.grad(lambda u: energy(u[None])[0])
    return 0.5 * slope(x).square().sum() - torch.func.jacrev(slope)(x).trace()


@pytest.mark.parametrize("datum", range(3))
def test_with_little_noise_it_is_score_matching_for_each_datum(datum: int) -> None:
    energy, x = network(2), events(3, 2)[datum]
    matching, errors = gradient(implicit(energy, x), energy), []
    for sigma in SIGMAS:
        scaled = gradient(expected(energy, x[None], sigma), energy) / (0.5 * sigma**2)
        errors.append(float((scaled - matching).norm() / matching.norm()))
    assert np.polyfit(np.log(SIGMAS), np.log(errors), 1)[0] == pytest.approx(2, abs=0.1)
    assert errors[-1] < 2e-3
    value = (expected(energy, x[None], 0.01) - 2 * math.log(2)) / (0.5 * 0.01**2)
    assert value.item() == pytest.approx(implicit(energy, x).item(), rel=1e-2)


def test_an_energy_that_tells_nothing_is_a_coin_toss() -> None:
    loss = conditional_noise_contrastive(lambda x: 0 * x[:, 0], events(5, 2), events(10, 2, seed=1), 0.7)
    assert loss.item() == pytest.approx(2 * math.log(2), abs=1e-12)


def test_a_shift_of_the_energy_is_not_seen() -> None:
    x, noise = events(5, 2), events(5, 2, seed=1)
    plain = conditional_noise_contrastive(lambda u: u.square().sum(1), x, noise, 0.7)
    shifted = conditional_noise_contrastive(lambda u: u.square().sum(1) + 3, x, noise, 0.7)
    assert plain.item() == pytest.approx(shifted.item(), abs=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_the_optimum_is_the_datas_precision_whatever_the_noise(sigma: float) -> None:
    """Data N(0, ½), E = θx²/2, expectations by quadrature: the loss is least at θ = 2."""
    nodes, distance = line(6.0, 241)
    weights = torch.softmax(-nodes[:, 0].square(), 0)
    theta = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([theta], max_iter=100, tolerance_grad=1e-14, tolerance_change=1e-16)
    # The noise takes the nodes to nodes: y − x are multiples of the distance.
    steps = nodes.repeat(1, len(nodes)) - nodes.T.expand(len(nodes), -1)
    of_noise = (-0.5 * (steps / sigma).square()).exp() * distance / (sigma * math.sqrt(2 * math.pi))

    def loss() -> Tensor:
        optimiser.zero_grad()
        pairs = torch.vmap(lambda x: torch.vmap(lambda y: _one(theta, x, (y - x) / sigma, sigma))(nodes))(nodes)
        value = (weights[:, None] * of_noise * pairs).sum()
        value.backward()
        return value

    optimiser.step(loss)
    assert theta.item() == pytest.approx(2.0, abs=1e-3)


def _one(theta: Tensor, x: Tensor, z: Tensor, sigma: float) -> Tensor:
    return conditional_noise_contrastive(lambda u: 0.5 * theta * u[:, 0].square(), x[None], z[None], sigma)


@pytest.mark.parametrize("ratio", [1, 3])
def test_the_method_draws_its_copies_in_units_of_the_datas_deviation(ratio: int) -> None:
    energy, x = network(2, scale=3.0), events(9, 2)
    noise = torch.randn(9 * ratio, 2, generator=draws(0, 0)("noise"), dtype=torch.float64)
    found = Method(Settings(sigma=0.2, ratio=ratio), gaussian_facts(2, 3.0))(Meter(energy), x, draws(0, 0))
    assert found.item() == conditional_noise_contrastive(energy, x, noise, 0.2 * 3.0).item()
    one_by_one = [conditional_noise_contrastive(energy, x[i % 9][None], z[None], 0.6) for i, z in enumerate(noise)]
    assert found.item() == pytest.approx(torch.stack(one_by_one).mean().item(), rel=1e-12)
