"""Rank-based noise-contrastive estimation: what must hold exactly."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods.nce import noise_contrastive
from ebmbench.methods.rank_nce import Method, Settings, rank_noise_contrastive
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network

NORMAL = MultivariateNormal(torch.zeros(2).double(), torch.eye(2).double())


def test_it_is_the_softmax_over_the_logarithm_of_the_ratio_written_out() -> None:
    """p(datum is the one) = g(x)/(g(x) + Σ g(yₖ)) with g = exp(−E)/p_n, for noise i mod B of datum i."""
    energy, x, noise = network(2), events(5, 2), events(15, 2, seed=1)
    g_x, g_y = ((-energy(u)).exp() / NORMAL.log_prob(u).exp() for u in (x, noise))
    written = -torch.stack([(g_x[i] / (g_x[i] + g_y[i::5].sum())).log() for i in range(5)]).mean()
    found = rank_noise_contrastive(energy, x, noise, NORMAL.log_prob)
    torch.testing.assert_close(found, written, rtol=0, atol=1e-12)
    of_ratio = -torch.stack([torch.cat([g_x[i][None], g_y[i::5]]).log_softmax(0)[0] for i in range(5)]).mean()
    assert abs(of_ratio - found) > 0.01  # the softmax of the ratio itself, as Xu (2.15) prints it


@pytest.mark.parametrize("k", [1, 4])
def test_of_equal_distributions_every_rank_is_as_likely(k: int) -> None:
    x, noise = events(8, 2), events(8 * k, 2, seed=1)
    loss = rank_noise_contrastive(lambda u: -NORMAL.log_prob(u), x, noise, NORMAL.log_prob)
    assert loss.item() == pytest.approx(math.log(1 + k), abs=1e-12)


def test_a_constant_of_the_energy_cancels_and_none_is_learned() -> None:
    energy, x, noise = network(2), events(5, 2), events(15, 2, seed=1)
    plain = rank_noise_contrastive(energy, x, noise, NORMAL.log_prob)
    shifted = rank_noise_contrastive(lambda u: energy(u) + 3.7, x, noise, NORMAL.log_prob)
    torch.testing.assert_close(plain, shifted, rtol=0, atol=1e-12)
    c = torch.zeros((), dtype=torch.float64)
    moved = [noise_contrastive(energy, c + shift, x, noise, NORMAL.log_prob).item() for shift in (0.0, 3.7)]
    assert abs(moved[0] - moved[1]) > 0.1  # nce sees it
    method = Method(Settings(), gaussian_facts(2)).initialise(draws(0, "start"), energy)
    assert method.learned() == {}
    assert not list(method.parameters())


def ranked_slope(energy: object, log_data: Tensor, log_noise: Tensor, theta: Tensor, k: int) -> Tensor:
    """∇θ of the expected loss on m points with k noise events, by the sum over all data and all noise."""
    m = len(log_data)
    places = torch.arange(m)[:, None].double()
    rows = torch.cartesian_prod(*[torch.arange(m)] * (k + 1)).reshape(-1, k + 1)
    weights = (log_data[rows[:, 0]] + log_noise[rows[:, 1:]].sum(1)).exp()
    losses = torch.stack(
        [
            rank_noise_contrastive(energy, places[row[:1]], places[row[1:]], lambda u: log_noise[u[:, 0].long()])
            for row in rows
        ]
    )
    return torch.autograd.grad(weights @ losses, theta)[0]


@pytest.mark.parametrize("k", [1, 2])
def test_the_data_are_its_optimum_whatever_the_number_of_noise_events(k: int) -> None:
    """On four points with expectations by enumeration: at E = −log p_data + 1.3 all slopes vanish, elsewhere not."""
    log_data = torch.tensor([0.1, 0.4, 0.3, 0.2], dtype=torch.float64).log()
    log_noise = torch.tensor([0.3, 0.2, 0.1, 0.4], dtype=torch.float64).log()
    for start, optimal in ((1.3 - log_data, True), (1.3 - 0.5 * log_data, False)):
        theta = start.requires_grad_(True)
        slope = ranked_slope(lambda u, theta=theta: theta[u[:, 0].long()], log_data, log_noise, theta, k)
        assert (slope.norm() < 1e-14) == optimal


def test_with_much_noise_the_gradient_is_that_of_the_likelihood_with_an_importance_sampled_normaliser() -> None:
    """The datum's own share in the softmax falls like 1/K: the relative error is 1/K times a number of order one."""
    energy, x, errors = network(2), events(1, 2), []
    for k in (100, 1000, 10_000):
        noise = events(100, 2, seed=1).repeat(k // 100, 1)
        log_z = (-energy(noise) - NORMAL.log_prob(noise)).logsumexp(0)
        exact = gradient(energy(x).mean() + log_z, energy)
        found = gradient(rank_noise_contrastive(energy, x, noise, NORMAL.log_prob), energy)
        errors.append(((found - exact).norm() / exact.norm()).item())
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.1)


def test_the_method_draws_ratio_noise_events_for_each_datum() -> None:
    energy, x = network(2), events(6, 2)
    method = Method(Settings(ratio=3), gaussian_facts(2)).initialise(draws(0, "start"), energy)
    noise = method.draw_noise(18, draws(0, 0)("noise")).double()
    expected = rank_noise_contrastive(energy, x, noise, method.log_noise)
    assert method(Meter(energy), x, draws(0, 0)).item() == pytest.approx(expected.item(), abs=1e-6)
