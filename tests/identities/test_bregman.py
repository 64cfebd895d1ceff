"""AdaBRM: S₀ and S₁ are Ψ's, each is maximum likelihood at its own copy and has the data for its optimum."""

import copy

import pytest
import torch
from torch import Tensor

from ebmbench.core.contrastive import contrastive
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods import adabrm, adance
from ebmbench.methods.adabrm import DIVERGENCES, Name, bregman_ratio_matching
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
    ours = gradient(bregman_ratio_matching(energy, copy.deepcopy(energy), x, negatives, DIVERGENCES[name])[0], energy)
    theirs = gradient(contrastive(energy, x, negatives)[0], energy)
    factor = derivatives(name, torch.ones(1, dtype=torch.float64))[2].item()
    torch.testing.assert_close(ours, factor * theirs, rtol=0, atol=1e-12)
    away = gradient(bregman_ratio_matching(energy, network(2, seed=1), x, negatives, DIVERGENCES[name])[0], energy)
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
        return bregman_ratio_matching(energy, copied, x, negatives, DIVERGENCES[name])[0]

    loss = population(objective, nodes, log_data.exp(), log_copy.exp())
    (slope,) = torch.autograd.grad(loss, theta)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-10)


def test_logistic_is_adance_bit_by_bit() -> None:
    gradients = []
    for module, more in ((adabrm, {"divergence": "logistic"}), (adance, {})):
        energy = network(2)
        settings = module.Settings(sampler=mala.Settings(steps=4, step_size=0.1), buffer=64, interval=3, **more)
        method = module.Method(settings, gaussian_facts(2)).initialise(draws(0, "start"), energy).double()
        with torch.no_grad():
            method(Meter(energy), events(16, 2), draws(0, 0))
            for weight in energy.parameters():
                weight.mul_(1.1)  # the second step of three is away from the copy
        gradients.append(gradient(method(Meter(energy), events(16, 2), draws(0, 1)), energy))
    assert torch.equal(*gradients)
