"""Bregman ratio matching, with the model's own copy (adabrm) and with fixed noise (brm), under every Ψ."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import MultivariateNormal, Normal

from ebmbench.core.contrastive import contrastive
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods import adabrm, adance, brm
from ebmbench.methods.adabrm import bregman_ratio_matching
from ebmbench.methods.brm import fixed_ratio_matching
from ebmbench.methods.common.adaptive_noise import log_ratio
from ebmbench.methods.common.bregman import DIVERGENCES, Name
from ebmbench.methods.nce import noise_contrastive
from ebmbench.samplers import mala
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network
from tests.identities.quadrature import line, population

every_psi = pytest.mark.parametrize("name", list(DIVERGENCES))


def derivatives(name: Name, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ψ, Ψ′ and Ψ″ by automatic differentiation."""
    u = u.detach().requires_grad_(True)
    psi = DIVERGENCES[name].psi(u)
    (first,) = torch.autograd.grad(psi.sum(), u, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), u)
    return psi.detach(), first.detach(), second


def adaptive(energy: Energy, frozen: Energy, x: Tensor, negatives: Tensor, name: Name) -> Tensor:
    return bregman_ratio_matching(log_ratio(energy, frozen, x, negatives, 1.0), DIVERGENCES[name])


@every_psi
def test_psi_is_strictly_convex_and_its_parts_are_those_of_the_thesis(name: Name) -> None:
    """(4.4) and (4.5): S₀ = uΨ′ − Ψ and S₁ = Ψ′, from u = e⁻⁴ to e⁴."""
    r = torch.linspace(-4, 4, 81, dtype=torch.float64)
    psi, first, second = derivatives(name, r.exp())
    assert (second > 0).all()
    torch.testing.assert_close(DIVERGENCES[name].s1(r), first, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(DIVERGENCES[name].s0(r), r.exp() * first - psi, rtol=1e-10, atol=1e-11)


@every_psi
def test_far_from_the_copy_value_and_gradient_are_numbers(name: Name) -> None:
    r = torch.linspace(-40, 40, 81, requires_grad=True)  # single precision, where 1 + e⁴⁰ has lost the 1
    value = DIVERGENCES[name].s0(r) - DIVERGENCES[name].s1(r)
    (slope,) = torch.autograd.grad(value.sum(), r)
    assert torch.isfinite(value).all()
    assert torch.isfinite(slope).all()


@every_psi
def test_at_its_own_copy_the_gradient_is_a_multiple_of_maximum_likelihoods(name: Name) -> None:
    energy, x, negatives = network(2), events(16, 2), 2 * events(16, 2, seed=100)
    ours = gradient(adaptive(energy, copy.deepcopy(energy), x, negatives, name), energy)
    theirs = gradient(contrastive(energy, x, negatives)[0], energy)
    factor = derivatives(name, torch.ones(1, dtype=torch.float64))[2].item()
    torch.testing.assert_close(ours, factor * theirs, rtol=0, atol=1e-12)
    away = gradient(adaptive(energy, network(2, seed=1), x, negatives, name), energy)
    assert (away - factor * theirs).norm() > 0.1 * (factor * theirs).norm()


@every_psi
def test_its_optimum_is_the_data_and_keeps_the_copys_normaliser(name: Name) -> None:
    """At log g = log p_data − log p_m the gradient vanishes in every direction: there Z is that of the copy."""
    nodes, _ = line(7.0, 281)
    log_data, log_copy = (torch.log_softmax(-(nodes[:, 0] - m).square() / (2 * v), 0) for m, v in ((0.4, 0.8), (0, 1)))
    theta = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    constant = (log_data - log_copy)[140] + 0.4**2 / 1.6  # the middle node is x = 0

    def copied(u: Tensor) -> Tensor:
        return 0.7 + u[:, 0].square() / 2

    def energy(u: Tensor) -> Tensor:
        x = u[:, 0]
        log_ratio = constant + x.square() / 2 - (x - 0.4).square() / 1.6
        return copied(u) - log_ratio + torch.stack([x**0, x, x.cos(), x.sin()], 1) @ theta

    def objective(x: Tensor, negatives: Tensor) -> Tensor:
        return adaptive(energy, copied, x, negatives, name)

    loss = population(objective, nodes, log_data.exp(), log_copy.exp())
    (slope,) = torch.autograd.grad(loss, theta)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-10)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_logistic_is_adance_bit_by_bit(penalty: float) -> None:
    gradients = []
    for module, more in ((adabrm, {"divergence": "logistic"}), (adance, {})):
        energy = network(2)
        chains = {"sampler": mala.Settings(steps=4, step_size=0.1), "buffer": 64, "interval": 3}
        settings = module.Settings(**chains, energy_penalty=penalty, **more)
        method = module.Method(settings, gaussian_facts(2)).initialise(draws(0, "start"), energy).double()
        with torch.no_grad():
            method(Meter(energy), events(16, 2), draws(0, 0))
            for weight in energy.parameters():
                weight.mul_(1.1)  # the second step of three is away from the copy
        gradients.append(gradient(method(Meter(energy), events(16, 2), draws(0, 1)), energy))
    assert torch.equal(*gradients)


NOISE = MultivariateNormal(torch.full((2,), 0.2).double(), 1.5 * torch.eye(2).double())


def fixed(name: Name, energy: nn.Module, c: Tensor, x: Tensor, noise: Tensor) -> Tensor:
    return fixed_ratio_matching(energy, c, x, noise, NOISE.log_prob, DIVERGENCES[name])


def test_with_fixed_noise_logistic_is_noise_contrastive_estimation_of_as_many_noise_events_as_data() -> None:
    energy, x, noise = network(2), events(16, 2), 1.2 * events(16, 2, seed=1) + 0.2
    c = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    losses = [
        fixed("logistic", energy, c, x, noise),
        noise_contrastive(energy, c, x, noise, NOISE.log_prob),
        fixed("kl", energy, c, x, noise),
    ]
    ours, nce, kl = (torch.cat([gradient(loss, energy), torch.autograd.grad(loss, c)[0].reshape(1)]) for loss in losses)
    torch.testing.assert_close(ours, nce, rtol=0, atol=1e-14)
    assert (kl - nce).norm() > 0.1 * nce.norm()


def test_kl_with_its_best_constant_is_maximum_likelihood_with_an_importance_sampled_normaliser() -> None:
    """At c = log mean exp(−E)/p_n over noise the slope in c vanishes and L = mean E + c + mean log p_n + 1."""
    energy, x, noise = network(2), events(16, 2), 1.2 * events(48, 2, seed=1) + 0.2
    log_z = (-energy(noise) - NOISE.log_prob(noise)).logsumexp(0) - math.log(len(noise))
    c = log_z.detach().requires_grad_(True)
    loss = fixed("kl", energy, c, x, noise)
    likelihood = energy(x).mean() + log_z
    (slope,) = torch.autograd.grad(loss, c, retain_graph=True)
    assert abs(slope.item()) < 1e-14
    torch.testing.assert_close(loss, likelihood + NOISE.log_prob(x).mean() + 1, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(loss, energy), gradient(likelihood, energy), rtol=0, atol=1e-12)


@every_psi
def test_with_fixed_noise_its_optimum_is_the_data_with_a_constant_that_normalises_them(name: Name) -> None:
    """At −E − c = log p_data the slope vanishes in every direction, that of c too; with c beside log Z it does not."""
    nodes, distance = line(7.0, 281)
    data, normal = (Normal(torch.tensor(m, dtype=torch.float64), math.sqrt(v)) for m, v in ((0.4, 0.8), (0, 1)))
    theta = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    log_z = 0.7 + 0.5 * math.log(2 * math.pi * 0.8)

    def log_noise(u: Tensor) -> Tensor:
        return normal.log_prob(u[:, 0])

    def energy(u: Tensor) -> Tensor:
        x = u[:, 0]
        return (x - 0.4).square() / 1.6 - 0.7 + torch.stack([x**0, x, x.cos(), x.sin()], 1) @ theta

    def slope(c: float) -> Tensor:
        def objective(x: Tensor, noise: Tensor) -> Tensor:
            constant = torch.tensor(c, dtype=torch.float64)
            return fixed_ratio_matching(energy, constant, x, noise, log_noise, DIVERGENCES[name])

        weights = ((p.log_prob(nodes[:, 0]).exp() * distance) for p in (data, normal))
        return torch.autograd.grad(population(objective, nodes, *weights), theta)[0]

    torch.testing.assert_close(slope(log_z), torch.zeros_like(theta), rtol=0, atol=1e-10)
    assert slope(log_z + 0.5).norm() > 0.01


def test_the_method_with_fixed_noise_draws_ratio_noise_events_for_each_datum() -> None:
    energy, x, facts = network(2), events(16, 2), gaussian_facts(2)
    method = brm.Method(brm.Settings(divergence="kl", ratio=3), facts).initialise(draws(0, "start"), energy).double()
    noise = method.draw_noise(48, draws(0, 0)("noise"))
    expected = fixed_ratio_matching(energy, method.c, x, noise, method.log_noise, DIVERGENCES["kl"])
    assert method(Meter(energy), x, draws(0, 0)).item() == expected.item()
    assert method.learned() == {"c": method.c.item()}
