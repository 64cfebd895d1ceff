"""Every registered method keeps the contract, whatever it computes, with its defaults and where settings branch."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import describe, load, names
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, draws
from ebmbench.methods.common.adaptive_noise import AdaptiveNoise
from ebmbench.methods.common.fixed_noise import FixedNoise
from ebmbench.methods.common.flow_noise import FlowNoise
from tests.conftest import labels_for
from tests.contracts.examples import events, example_facts, example_network, gives_energy

# The defaults of each method, and the settings in its file that take another way through it.
CASES = {name: (name, {}) for name in names("methods")} | {
    f"{name} {number}": (name, settings)
    for name in names("methods")
    for number, settings in enumerate(getattr(load("methods", name), "EXAMPLES", []), 1)
}
METHODS = list(CASES)
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def made(case: str, seed: int = 0):
    name, chosen = CASES[case]
    module = load("methods", name)
    settings = module.Settings(**chosen)
    facts, labelled = example_facts(settings.model), module.Method.needs_labels
    network, method = example_network(settings.model, seed, labelled), module.Method(settings, facts)
    method.observe(events(settings.model, 100))
    return method.initialise(draws(seed, "start"), network), Meter(network)


def batch(case: str, count: int = 16) -> Tensor:
    name, chosen = CASES[case]
    return events(load("methods", name).Settings(**chosen).model, count)


def loss_of(method: Any, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
    return method(energy, x, draw, *labels_for(method, x))


def recorded(draw: Draw, names: list[str]) -> Draw:
    """The same streams, with a note of which were asked for."""

    def asked(purpose: str) -> torch.Generator:
        names.append(purpose)
        return draw(purpose)

    return asked


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_a_finite_scalar_with_gradients_for_every_weight(name: str) -> None:
    method, energy = made(name)
    loss = loss_of(method, energy, batch(name), draws(0, 0))
    energy.backward(loss)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    *weights, last_bias = [weight.grad for weight in energy.network.parameters()]
    # The last bias shifts an energy by a constant, which a method may be blind to.
    seen = weights if gives_energy(energy.network) else [*weights, last_bias]
    assert all(g is not None and torch.isfinite(g).all() and g.abs().sum() > 0 for g in seen)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_streams_give_the_same_gradient_and_others_another(name: str) -> None:
    """Of the gradient, not of the loss: adance's first loss is 2 log 2 whatever it draws. A method may draw nothing."""
    gradients, drawn = [], []
    for step in (0, 0, 1):
        method, energy = made(name)
        energy.backward(loss_of(method, energy, batch(name), recorded(draws(0, step), drawn)))
        gradients.append(next(energy.network.parameters()).grad)
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(gradients[0], gradients[2]) == (not drawn)


@pytest.mark.parametrize("name", METHODS)
def test_the_callers_batch_is_left_alone(name: str) -> None:
    method, energy = made(name)
    x = batch(name)
    before = x.clone()
    energy.backward(loss_of(method, energy, x, draws(0, 0)))
    assert torch.equal(x, before)
    assert not x.requires_grad


@pytest.mark.parametrize("name", METHODS)
def test_all_state_is_in_the_state_dict(name: str) -> None:
    method, energy = made(name)
    loss_of(method, energy, batch(name), draws(0, 0))
    twin, _ = made(name, seed=1)
    twin.load_state_dict(copy.deepcopy(method.state_dict()))
    one, other = (loss_of(each, energy, batch(name), draws(0, 1)).item() for each in (method, twin))
    assert one == other


@pytest.mark.parametrize("name", METHODS)
def test_every_pass_is_counted_and_a_step_costs_the_same_each_time(name: str) -> None:
    method, energy = made(name)
    spent = []
    for step in range(3):
        before = energy.counts.passes
        energy.backward(loss_of(method, energy, batch(name), draws(0, step)))
        spent.append(energy.counts.passes - before)
    assert spent[0] == spent[1] == spent[2] > 0
    assert energy.counts.parameter_gradients > 0


@pytest.mark.parametrize("name", names("methods"))
def test_it_cites_a_paper_and_a_year(name: str) -> None:
    entry = describe("methods", name)
    assert len(entry.paper) > 20
    assert 1900 < entry.year <= 2100
    assert str(entry.year) in entry.paper


@pytest.mark.parametrize("name", METHODS)
def test_health_and_learned_values_are_plain_numbers(name: str) -> None:
    method, energy = made(name)
    loss_of(method, energy, batch(name), draws(0, 0))
    assert all(type(value) is float for value in {**method.health(), **method.learned()}.values())


@pytest.mark.parametrize("name", names("methods"))
def test_what_its_file_says_of_its_noise_is_what_it_does(name: str) -> None:
    """For the report, which imports no method: whether log Z is learned, and whether the noise has an adversary."""
    entry, (method, _) = describe("methods", name), made(name)
    noise = isinstance(method, FixedNoise | FlowNoise | AdaptiveNoise) or name == "cnce"
    assert bool(entry.noise) == noise
    assert entry.learns_z == ("c" in method.learned())
    assert entry.adversarial == (noise and hasattr(method, "adversary"))
