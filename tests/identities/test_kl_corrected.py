"""The KL term of contrastive divergence: with it, and its sign, the gradient is that of CD_t itself.

For E = θx²/2 and data N(0, v) a Langevin step gives q₁ = N(0, w), w = (1 − ½ηθ)²·v + η. With
KL(N(0, a)‖N(0, 1/θ)) = ½(θa − 1 − log θa), the derivative of CD₁ = KL(p₀‖p_θ) − KL(q₁‖p_θ) is ½(v − w) − ½θw′ + ½w′/w:
the contrast, the way through the last step, and the entropy.

Two steps from x with noise n₁ and n₂ end at x₂ = a²x + a·n₁ + n₂, a = 1 − ½ηθ. Through both, the derivative of x₂ is
a′(2ax + n₁) with a′ = −½η; through the last alone it is a′(ax + n₁).
"""

import math

import pytest
import torch
from torch import Tensor, nn

from ebmbench.core.energy import by_autograd
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, normal, stream
from ebmbench.methods import icd
from ebmbench.methods.icd import follow_energy, last_steps, neighbour_entropy
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


@pytest.mark.parametrize("limits", [Limits(), Limits(clip=0.8, box=1.2)], ids=["free", "limited"])
@pytest.mark.parametrize("steps", [1, 3])
def test_the_way_through_the_last_steps_is_the_difference_quotient_of_the_frozen_energy(
    steps: int, limits: Limits
) -> None:
    energy, x, noises = network(2), events(5, 2), [0.3 * events(5, 2, seed=1 + i) for i in range(steps)]
    ends = last_steps(energy, x, noises, STEP, limits)
    assert not torch.equal(ends, last_steps(energy, x, noises, STEP, Limits())) or limits == Limits()
    found = gradient(follow_energy(energy, ends), energy)
    frozen, weights = network(2), list(energy.parameters())

    def value() -> float:
        z = x
        for noise in noises:
            drift = by_autograd(energy, z)[1].clamp(-(limits.clip or math.inf), limits.clip or math.inf)
            z = (z + 0.5 * STEP * drift + noise).clamp(-(limits.box or math.inf), limits.box or math.inf)
        with torch.no_grad():
            return float(frozen(z).mean())

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


@pytest.mark.parametrize("through", [1, 2])
def test_through_two_steps_on_a_gaussian_the_gradient_is_that_in_closed_form(through: int) -> None:
    energy, (x, first, second) = Parabola(), (events(7, 1, seed=i) for i in range(3))
    shrink = 1 - 0.5 * STEP * THETA
    middle = shrink * x + first
    noises = [first, second][2 - through :]
    ends = last_steps(energy, x if through == 2 else middle, noises, STEP, Limits())
    torch.testing.assert_close(ends, shrink * middle + second, rtol=0, atol=1e-14)
    slope = -0.5 * STEP * ((2 * shrink * x + first) if through == 2 else middle)
    found = gradient(follow_energy(energy, ends), energy)
    torch.testing.assert_close(found[0], (THETA * ends * slope).mean(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("unrolled", [1, 2])
def test_the_method_goes_back_through_as_many_steps_as_told(unrolled: int) -> None:
    """Without past ends there is no entropy, and the rest is known for each event."""
    facts, energy, x, found = gaussian_facts(1), Parabola(), events(7, 1), []
    for weight in (1.0, 0.0):
        sampler = langevin.Settings(steps=2, step_size=STEP)
        method = icd.Method(icd.Settings(sampler=sampler, unrolled=unrolled, weight=weight), facts).double()
        found.append(gradient(method(Meter(energy), x, draws(0, 1)), energy)[0])
    last, shrink = draws(0, 1)("last"), 1 - 0.5 * STEP * THETA
    first, second = (math.sqrt(STEP) * normal(x, generator) for generator in (last, last))
    if unrolled == 1:  # the first step is Langevin's own
        first, second = math.sqrt(STEP) * normal(x, draws(0, 1)("chain")), first
    middle = shrink * x + first
    slope = -0.5 * STEP * ((2 * shrink * x + first) if unrolled == 2 else middle)
    expected = (THETA * (shrink * middle + second) * slope).mean()
    torch.testing.assert_close(found[0] - found[1], expected, rtol=0, atol=1e-14)


def test_through_both_steps_the_term_is_the_derivative_of_the_divergence_of_the_chains() -> None:
    """The ends have the variance w = a⁴v + a²η + η, and w′ = (4a³v + 2aη)·a′; the last step alone gives 0.59 of w′.

    The contrast ½(v − w) does not depend on the steps back.
    """
    facts, energy, found = gaussian_facts(1), Parabola(), []
    x = math.sqrt(VARIANCE) * torch.randn(POINTS, 1, generator=stream(0, "data"), dtype=torch.float64)
    for unrolled in (2, 1):
        sampler = langevin.Settings(steps=2, step_size=STEP)
        settings = icd.Settings(sampler=sampler, unrolled=unrolled, memory=POINTS, neighbours=NEIGHBOURS)
        method = icd.Method(settings, facts).double()
        with torch.no_grad():
            method(Meter(energy), x.flip(0), draws(0, 1))
        found.append(float(gradient(method(Meter(energy), x, draws(0, 2)), energy)))
    shrink = 1 - 0.5 * STEP * THETA
    w = shrink**4 * VARIANCE + shrink**2 * STEP + STEP
    slope = -0.5 * STEP * (4 * shrink**3 * VARIANCE + 2 * shrink * STEP)
    term = 0.5 * THETA * slope - 0.5 * slope / w
    assert found[0] - 0.5 * (VARIANCE - w) == pytest.approx(term, abs=0.05)
    assert found[1] - 0.5 * (VARIANCE - w) != pytest.approx(term, abs=0.05)


def test_more_steps_back_than_the_chain_has_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at most sampler\.steps, which is 3"):
        icd.Settings(sampler=langevin.Settings(steps=3), unrolled=4)


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
