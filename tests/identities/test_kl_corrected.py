"""The KL term of contrastive divergence: with it, and its sign, the gradient is that of CD_t itself.

For E = θx²/2 and data N(0, v) a Langevin step gives q₁ = N(0, w), w = (1 − ½ηθ)²·v + η. With
KL(N(0, a)‖N(0, 1/θ)) = ½(θa − 1 − log θa), the derivative of CD₁ = KL(p₀‖p_θ) − KL(q₁‖p_θ) is ½(v − w) − ½θw′ + ½w′/w:
the contrast, the way through the last step, and the entropy.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from ebmbench.core.energy import by_autograd
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods import icd
from ebmbench.methods.icd import follow_energy, last_step, neighbour_entropy
from ebmbench.samplers import langevin
from ebmbench.samplers.langevin import Limits
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network

STEP, THETA, VARIANCE, POINTS, NEIGHBOURS = 0.4, 1.7, 2.0, 4_000, 200


class Parabola(nn.Module):
    """E = θx²/2."""

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(THETA, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * self.theta * x.flatten(1).square().sum(1)


def derivatives() -> tuple[float, float, float]:
    """Of CD₁ by θ: contrast, way through the step, entropy."""
    shrink = 1 - 0.5 * STEP * THETA
    w, slope = shrink**2 * VARIANCE + STEP, -STEP * shrink * VARIANCE
    return 0.5 * (VARIANCE - w), -0.5 * THETA * slope, 0.5 * slope / w


def test_the_way_through_the_last_step_is_the_difference_quotient_of_the_frozen_energy() -> None:
    energy, x, noise = network(2), events(5, 2), 0.3 * events(5, 2).flip(0)
    ends = last_step(energy, x, noise, STEP, Limits())
    found = gradient(follow_energy(energy, ends), energy)
    frozen, weights = network(2), list(energy.parameters())

    def value() -> float:
        with torch.no_grad():
            return float(frozen(x + 0.5 * STEP * by_autograd(energy, x)[1] + noise).mean())

    place = 0
    for weight in weights:
        flat = weight.data.view(-1)
        for i in range(0, len(flat), max(1, len(flat) // 3)):
            before = float(flat[i])
            flat[i] = before + 1e-6
            above = value()
            flat[i] = before - 1e-6
            below = value()
            flat[i] = before
            assert float(found[place + i]) == pytest.approx((above - below) / 2e-6, abs=1e-8)
        place += len(flat)
    assert place == len(found)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_gradient_of_the_entropy_is_that_of_minus_log_density(dimension: int) -> None:
    """Past ends are N(0, I), so at x inside of them it is x: a line through the found gradients has the slope 1."""
    past = torch.randn(50_000, dimension, generator=stream(0, "past"), dtype=torch.float64)
    x = (2 * torch.rand(400, dimension, generator=stream(0, "x"), dtype=torch.float64) - 1).requires_grad_(True)
    (found,) = torch.autograd.grad(len(x) * neighbour_entropy(x, past, 2_000), x)
    x = x.detach()
    assert float((found * x).sum() / x.square().sum()) == pytest.approx(1, abs=0.2 if dimension > 2 else 0.1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_term_is_the_derivative_of_the_divergence_of_the_chains(sign: int) -> None:
    facts, energy, found = gaussian_facts(1), Parabola(), []
    x = math.sqrt(VARIANCE) * torch.randn(POINTS, 1, generator=stream(0, "data"), dtype=torch.float64)
    for weight in (1.0, 0.0):
        sampler = langevin.Settings(steps=1, step_size=STEP / facts.unit**2)
        settings = icd.Settings(sampler=sampler, sign=sign, memory=POINTS, neighbours=NEIGHBOURS, weight=weight)
        method = icd.Method(settings, facts).double()
        with torch.no_grad():
            method(Meter(energy), x.flip(0), draws(0, 1))  # fills the memory with ends of the same density
        found.append(float(gradient(method(Meter(energy), x, draws(0, 2)), energy)))
    contrast, through, entropy = derivatives()
    assert found[1] == pytest.approx(contrast, abs=0.05)
    # Without the entropy it would be 0.45, with its sign turned 0.66.
    assert found[0] - found[1] == pytest.approx(-sign * (through + entropy), abs=0.05)


def test_without_weight_it_is_contrastive_divergence() -> None:
    facts, energy, x = gaussian_facts(2), network(2), events(6, 2)
    settings = icd.Settings(sampler=langevin.Settings(steps=3, step_size=0.1), weight=0.0)
    method = icd.Method(settings, facts).double()
    loss = method(Meter(energy), x, draws(0, 1))
    ends = method.past[:6]
    torch.testing.assert_close(loss, energy(x).mean() - energy(ends).mean(), rtol=0, atol=1e-14)


def test_the_oldest_ends_leave_first() -> None:
    method = icd.Method(icd.Settings(memory=5), gaussian_facts(1))
    for value in (1.0, 2.0):
        method._remember(torch.full((3, 1), value))
    assert method.past.flatten().tolist() == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert int(method.kept) == 5
