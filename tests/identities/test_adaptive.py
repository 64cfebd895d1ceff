"""AdaNCE: half of maximum likelihood at its own copy, the schedule of algorithm 3.1, and an optimum that keeps Z."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.schema import read_yaml
from ebmbench.core.contrastive import contrastive
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods import adance, mle
from ebmbench.methods.adance import adaptive_contrast
from ebmbench.samplers import langevin, mala
from ebmbench.workspace.layout import DEFAULTS
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network
from tests.identities.quadrature import line, population

ROOT = Path(__file__).parents[2]
CHAINS: dict[str, Any] = {"sampler": mala.Settings(steps=4, step_size=0.1), "buffer": 64, "rejuvenation": 0.25}


def started(module: Any, energy: nn.Module, scale: float = 1.0, **settings: Any) -> Any:
    facts = gaussian_facts(2, scale)
    method = module.Method(module.Settings(**{**CHAINS, **settings}), facts)
    return method.initialise(draws(0, "start"), energy).double()


def path(module: Any, steps: int, eps: float = 1e-8, **settings: Any) -> Tensor:
    """The weights before the first step and after each, `(steps + 1, weights)`."""
    energy = network(2)
    method = started(module, energy, **settings)
    optimiser = torch.optim.Adam(energy.parameters(), lr=1e-2, eps=eps)
    weights = [flat(energy)]
    for step in range(steps):
        optimiser.zero_grad()
        method(Meter(energy), events(16, 2, seed=step), draws(0, step)).backward()
        optimiser.step()
        weights.append(flat(energy))
    return torch.stack(weights)


def flat(module: nn.Module) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in module.parameters()])


@pytest.mark.parametrize("seed", range(4))
def test_at_its_own_copy_the_gradient_is_half_of_maximum_likelihoods(seed: int) -> None:
    energy, x, negatives = network(2, seed=seed), events(16, 2, seed=seed), 2 * events(16, 2, seed=seed + 100)
    ours = gradient(adaptive_contrast(energy, copy.deepcopy(energy), x, negatives)[0], energy)
    theirs = gradient(contrastive(energy, x, negatives)[0], energy)
    assert theirs.norm() > 0.1
    torch.testing.assert_close(ours, 0.5 * theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.25])
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_the_penalty_that_does_what_mles_does_is_half_of_it_over_the_temperature(
    temperature: float, alpha: float
) -> None:
    """With α/2T the whole gradient is 1/2T of maximum likelihood's with α; with α itself it is not."""
    energy, x, negatives = network(2), events(16, 2), 2 * events(16, 2, seed=1)
    frozen, share = copy.deepcopy(energy), 1 / (2 * temperature)
    theirs = gradient(contrastive(energy, x, negatives, alpha)[0], energy)

    def ours(penalty: float) -> Tensor:
        return gradient(adaptive_contrast(energy, frozen, x, negatives, temperature, penalty)[0], energy)

    assert theirs.dtype == torch.float64
    torch.testing.assert_close(ours(share * alpha), share * theirs, rtol=0, atol=1e-12)
    assert (ours(share * alpha * 2) - share * theirs).norm() > 1e-3 * theirs.norm()


def test_with_half_the_penalty_adam_follows_maximum_likelihood() -> None:
    ours, theirs = path(adance, 10, 1e-30, interval=1, energy_penalty=0.05), path(mle, 10, 1e-30, energy_penalty=0.1)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    same = path(adance, 10, 1e-30, interval=1, energy_penalty=0.1)
    assert (same - theirs)[1:].abs().amax() > 1e-4


@pytest.mark.parametrize("dataset", ["digits", "mnist", "fashion_mnist", "cifar10", "celeba"])
def test_the_defaults_on_images_give_adance_half_of_mles_penalty(dataset: str) -> None:
    methods = read_yaml(ROOT / DEFAULTS)["datasets"][dataset]["overrides"]["methods"]
    assert methods["adance"]["temperature"] == 1.0
    assert 2 * methods["adance"]["energy_penalty"] == methods["mle"].get("energy_penalty", 0.0)


def test_away_from_its_copy_it_is_not() -> None:
    energy, x, negatives = network(2), events(16, 2), 2 * events(16, 2, seed=1)
    ours = gradient(adaptive_contrast(energy, network(2, seed=1), x, negatives)[0], energy)
    theirs = gradient(contrastive(energy, x, negatives)[0], energy)
    assert (ours - 0.5 * theirs).norm() > 0.1 * theirs.norm()


def test_with_an_interval_of_one_it_follows_maximum_likelihood() -> None:
    """Adam divides m by √v + eps: half the gradient is the same step but for eps, which then counts double.

    So with the usual eps = 1e-8 the paths part by about eps/√v in each step (and by what chains make of it), and with
    an eps below the last digit of √v they do not part at all.
    """
    torch.testing.assert_close(path(adance, 30, interval=1), path(mle, 30), rtol=0, atol=1e-5)
    torch.testing.assert_close(path(adance, 30, 1e-30, interval=1), path(mle, 30, 1e-30), rtol=0, atol=1e-12)


def test_with_an_interval_of_five_it_does_not() -> None:
    ours, theirs = path(adance, 30, 1e-30, interval=5), path(mle, 30, 1e-30)
    torch.testing.assert_close(ours[:2], theirs[:2], rtol=0, atol=1e-12)  # the first step is from the copy itself
    assert (ours - theirs)[2:].abs().amax(1).min() > 1e-4


def test_the_copy_is_renewed_as_algorithm_3_1_says() -> None:
    """After the update of step t when (t + 1) mod 𝒦 = 0: for 𝒦 = 3, step t contrasts with the weights of 3⌊t/3⌋."""
    energy = network(2)
    method = started(adance, energy, interval=3)
    optimiser = torch.optim.Adam(energy.parameters(), lr=1e-2)
    copied = flat(energy)
    for step in range(10):
        optimiser.zero_grad()
        method(Meter(energy), events(16, 2, seed=step), draws(0, step)).backward()
        assert torch.equal(flat(method.frozen), copied), step
        optimiser.step()
        assert not torch.equal(flat(energy), copied)
        if (step + 1) % 3 == 0:
            copied = flat(energy)


def test_chains_move_on_the_copy_and_not_on_the_network() -> None:
    energy = network(2)
    method = started(adance, energy, interval=2, buffer=1, rejuvenation=0.0)
    method(Meter(energy), events(16, 2), draws(0, 0))
    method.frozen.load_state_dict(network(2, seed=1).state_dict())  # the second step of two keeps what is there
    start = method.buffer.chains.clone()
    end = CHAINS["sampler"].fit_to(gaussian_facts(2)).run(method.frozen, start, draws(0, 1)("chain")).x
    loss = method(Meter(energy), events(16, 2), draws(0, 1))
    assert loss.item() == adaptive_contrast(energy, method.frozen, events(16, 2), end)[0].item()


@pytest.mark.parametrize(("temperature", "expected"), [(None, 0.25), (1.0, 1.0), (0.5, 0.5)])
def test_without_a_temperature_the_ratio_takes_the_samplers(temperature: float | None, expected: float) -> None:
    """τ²/η = 0.25 in any units of length; the first gradient is maximum likelihood's over 2T."""
    short_run = langevin.Settings(steps=3, step_size=0.04, noise_std=0.1)
    gradients = []
    for module, more in ((adance, {"temperature": temperature}), (mle, {})):
        energy = network(2)
        method = started(module, energy, scale=3.0, sampler=short_run, **more)
        gradients.append(gradient(method(Meter(energy), events(16, 2), draws(0, 0)), energy))
    torch.testing.assert_close(gradients[0], gradients[1] / (2 * expected), rtol=0, atol=1e-12)


def test_its_optimum_is_the_data_and_keeps_the_copys_normaliser() -> None:
    """E = θ₀ + θ₁x + θ₂x², data N(0.4, 0.6) and a copy N(0, 1) with a constant of 0.7, expectations by quadrature."""
    nodes, distance = line(9.0, 361)
    powers = torch.cat([nodes**0, nodes, nodes**2], 1)
    frozen = torch.tensor([0.7, 0.0, 0.5], dtype=torch.float64)
    theta = frozen.clone().requires_grad_(True)
    z_m = (-powers @ frozen).exp().sum() * distance
    p_m = (-powers @ frozen).exp() * distance / z_m
    p_data = torch.softmax(-(nodes[:, 0] - 0.4).square() / (2 * 0.6), 0)
    optimiser = torch.optim.LBFGS(
        [theta], max_iter=300, tolerance_grad=1e-13, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def energy(theta: Tensor, x: Tensor) -> Tensor:
        return theta[0] + theta[1] * x[:, 0] + theta[2] * x[:, 0].square()

    def objective(x: Tensor, negatives: Tensor) -> Tensor:
        return adaptive_contrast(lambda u: energy(theta, u), lambda u: energy(frozen, u), x, negatives)[0]

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = population(objective, nodes, p_data, p_m)
        value.backward()
        return value

    optimiser.step(loss)
    unnormalised = (-powers @ theta.detach()).exp() * distance
    assert unnormalised.sum().item() == pytest.approx(z_m.item(), abs=1e-6)
    torch.testing.assert_close(unnormalised / unnormalised.sum(), p_data, rtol=0, atol=1e-6)
    assert (p_data - p_m).abs().max() > 1e-3
