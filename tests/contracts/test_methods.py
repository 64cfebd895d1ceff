"""Every registered method keeps the contract, whatever it computes, with its defaults and where settings branch."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import describe, load, names
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, draws, stream
from tests.conftest import gaussian_facts

# Settings that take another way through a method than its defaults do; the rest is found by name.
BRANCHES: dict[str, dict[str, Any]] = {
    "adabrm interval": {"divergence": "brier", "interval": 1},
    "adance interval": {"interval": 1, "temperature": 0.5},
    "cd persistent": {"persistent": True, "chains": 40},
    "cnce copies": {"ratio": 3},
    "mle noise": {"init": "noise", "energy_penalty": 0.1},
    "nce uniform": {"noise": "uniform", "ratio": 3},
    "ncsn score": {"model": "score_mlp"},
    "ssm plain": {"directions": "sphere", "variance_reduced": False, "projections": 2},
}
METHODS = [*names("methods"), *BRANCHES]
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def made(name: str, seed: int = 0):
    module, facts = load("methods", name.split()[0]), gaussian_facts(2)
    settings = module.Settings(**BRANCHES.get(name, {}))
    models = load("models", settings.model)
    network = models.Model(models.Settings(width=8), facts).initialise(stream(seed, "weights"))
    return module.Method(settings, facts).initialise(draws(seed, "start"), network), Meter(network)


def batch(count: int = 16) -> Tensor:
    return torch.randn(count, 2, generator=stream(0, "batch"))


def recorded(draw: Draw, names: list[str]) -> Draw:
    """The same streams, with a note of which were asked for."""

    def asked(purpose: str) -> torch.Generator:
        names.append(purpose)
        return draw(purpose)

    return asked


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_a_finite_scalar_with_gradients_for_every_weight(name: str) -> None:
    method, energy = made(name)
    loss = method(energy, batch(), draws(0, 0))
    energy.backward(loss)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    # The last bias shifts the energy by a constant, which a method may be blind to.
    blind = set() if name == "ncsn score" else {"trunk.head.bias"}
    gradients = {n: p.grad for n, p in energy.network.named_parameters() if n not in blind}
    assert all(g is not None and torch.isfinite(g).all() and g.abs().sum() > 0 for g in gradients.values())


@pytest.mark.parametrize("name", METHODS)
def test_the_same_streams_give_the_same_gradient_and_others_another(name: str) -> None:
    """Of the gradient, not of the loss: adance's first loss is 2 log 2 whatever it draws. A method may draw nothing."""
    gradients, drawn = [], []
    for step in (0, 0, 1):
        method, energy = made(name)
        energy.backward(method(energy, batch(), recorded(draws(0, step), drawn)))
        gradients.append(energy.network.trunk.hidden[0].weight.grad)
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(gradients[0], gradients[2]) == (not drawn)


@pytest.mark.parametrize("name", METHODS)
def test_the_callers_batch_is_left_alone(name: str) -> None:
    method, energy = made(name)
    x = batch()
    before = x.clone()
    energy.backward(method(energy, x, draws(0, 0)))
    assert torch.equal(x, before)
    assert not x.requires_grad


@pytest.mark.parametrize("name", METHODS)
def test_all_state_is_in_the_state_dict(name: str) -> None:
    method, energy = made(name)
    method(energy, batch(), draws(0, 0))
    twin, _ = made(name, seed=1)
    twin.load_state_dict(copy.deepcopy(method.state_dict()))
    assert method(energy, batch(), draws(0, 1)).item() == twin(energy, batch(), draws(0, 1)).item()


@pytest.mark.parametrize("name", METHODS)
def test_every_pass_is_counted_and_a_step_costs_the_same_each_time(name: str) -> None:
    method, energy = made(name)
    spent = []
    for step in range(3):
        before = energy.counts.passes
        energy.backward(method(energy, batch(), draws(0, step)))
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
    method(energy, batch(), draws(0, 0))
    assert all(type(value) is float for value in {**method.health(), **method.learned()}.values())
