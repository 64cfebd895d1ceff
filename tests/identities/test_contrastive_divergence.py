"""Contrastive divergence: one short step is score matching, and where chains start is all that tells it from others.

One valid Langevin step of noise ε takes x to x⁻ = x + ½ε²s(x) + εz. Expand ∇θE(x⁻), held fixed, around x and average
over z, whose odd moments vanish:

    E[∇θE(x) − ∇θE(x⁻)] = ½ε² (s·∇θs + tr ∇∇θs) + O(ε⁴) = ½ε² ∇θ(½‖s‖² + tr ∇s) + O(ε⁴).

So the identity holds for each datum alone, whatever its density. Hyvärinen (2007); Jin (21).
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ebmbench.core.contrastive import contrastive
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods import cd, mle
from ebmbench.samplers import mala
from ebmbench.samplers.langevin import langevin
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network
from tests.identities.quadrature import normal

NOISES = [0.1, 0.05, 0.02, 0.01]


def implicit(energy: nn.Module, x: Tensor) -> Tensor:
    """½‖s‖² + tr ∇s of one event, from a whole Hessian."""
    slope = torch.func.grad(lambda u: energy(u[None])[0])
    return 0.5 * slope(x).square().sum() - torch.func.jacrev(slope)(x).trace()


def one_step(energy: nn.Module, x: Tensor, epsilon: float) -> Tensor:
    """The expected gradient of CD-1: the sampler's own drift, and Gauss–Hermite quadrature for its noise."""
    drifted = langevin(energy, x, steps=1, step_size=epsilon**2, noise_std=0.0, generator=stream(0, "unused")).x
    losses = [w * contrastive(energy, x, drifted + epsilon * z)[0] for z, w in zip(*normal(10, 2), strict=True)]
    return gradient(torch.stack(losses).sum(), energy)


def test_langevins_step_is_its_drift_and_the_noise_that_it_draws() -> None:
    energy, x = network(2), events(6, 2)
    moved, drifted = (langevin(energy, x, 1, 0.04, noise_std, stream(0, "chain")).x for noise_std in (0.2, 0.0))
    noise = torch.randn(6, 2, generator=stream(0, "chain"), dtype=torch.float64)
    torch.testing.assert_close(moved, drifted + 0.2 * noise, rtol=0, atol=1e-15)
    (slope,) = torch.autograd.grad(energy(x.requires_grad_(True)).sum(), x)
    torch.testing.assert_close(drifted, x.detach() - 0.02 * slope, rtol=0, atol=1e-15)


@pytest.mark.parametrize("datum", range(3))
def test_one_short_step_is_score_matching_for_each_datum(datum: int) -> None:
    energy, x = network(2), events(3, 2)[datum]
    matching = gradient(implicit(energy, x), energy)
    errors = []
    for epsilon in NOISES:
        scaled = one_step(energy, x[None], epsilon) / (0.5 * epsilon**2)
        errors.append(float((scaled - matching).norm() / matching.norm()))
    slope = np.polyfit(np.log(NOISES), np.log(errors), 1)[0]
    assert 1.9 < slope < 2.1
    assert errors[-1] < 2e-3


def losses(module: Any, steps: int = 5, **settings: Any) -> list[float]:
    """The losses of a few training steps: they depend on all that came before."""
    energy = network(2)
    chosen = module.Settings(sampler=mala.Settings(steps=3, step_size=0.1), **settings)
    method = module.Method(chosen, gaussian_facts(2)).initialise(draws(0, "start"), energy).double()
    optimiser = torch.optim.Adam(energy.parameters(), lr=1e-2)
    path = []
    for step in range(steps):
        optimiser.zero_grad()
        loss = method(Meter(energy), events(16, 2, seed=step), draws(0, step))
        loss.backward()
        optimiser.step()
        path.append(loss.item())
    return path


@pytest.mark.parametrize("chains", [16, 40])
def test_persistent_chains_that_are_reset_each_step_are_contrastive_divergence(chains: int) -> None:
    assert losses(cd, persistent=True, reset=1.0, chains=chains) == losses(cd)


def test_persistent_chains_that_go_on_are_not() -> None:
    ours, theirs = losses(cd, persistent=True, reset=0.0, chains=16), losses(cd)
    assert ours[0] == theirs[0]  # chains begin at data
    assert all(one != other for one, other in zip(ours[1:], theirs[1:], strict=True))


def test_a_persistent_chain_goes_on_from_where_it_was() -> None:
    energy, sampler = network(2), mala.Settings(steps=3, step_size=0.1)
    settings = cd.Settings(sampler=sampler, persistent=True, reset=0.0, chains=1)
    method, end = cd.Method(settings, gaussian_facts(2)).double(), events(16, 2, seed=0)[:1]
    for step in range(3):
        x = events(16, 2, seed=step)
        end = sampler.run(energy, end, draws(0, step)("chain")).x
        assert method(Meter(energy), x, draws(0, step)).item() == contrastive(energy, x, end)[0].item()


def test_maximum_likelihood_from_data_is_contrastive_divergence() -> None:
    assert losses(mle, init="data") == losses(cd)
    assert losses(mle, init="noise")[0] != losses(cd)[0]
    assert losses(mle, init="persistent")[0] != losses(cd)[0]


def test_chains_start_at_the_batch() -> None:
    """With steps so small that chains hardly move, negatives are the data and the loss vanishes like √η."""
    energy, x = network(2), events(16, 2)
    for persistent in (False, True):
        settings = cd.Settings(sampler=mala.Settings(steps=3, step_size=1e-14), persistent=persistent, chains=16)
        loss = cd.Method(settings, gaussian_facts(2)).double()(Meter(energy), x, draws(0, 0))
        assert 0 < abs(loss.item()) < 10 * math.sqrt(1e-14)
