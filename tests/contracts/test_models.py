"""Every registered model keeps the contract: an energy or a score, one event at a time, with all state in its dict."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.registry import describe, load, names
from ebmbench.core.energy import by_autograd, energy_and_score, energy_score_and_curvature, fixed, score
from ebmbench.core.streams import stream
from tests.contracts.examples import events, example_network, gives_energy, has_levels

MODELS = names("models")
ENERGIES = [name for name in MODELS if gives_energy(example_network(name))]
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def double(name: str, seed: int = 0) -> nn.Module:
    """A network in float64, moved a little from where it starts: a layer that starts at zero hides those before it."""
    network = example_network(name, seed).double()
    with torch.no_grad():
        for weight in network.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=stream(seed, "moved"), dtype=torch.float64)
    return network


def at_level(network: Any, count: int) -> Any:
    """The network, or each event at a noise level of its own."""
    return network.given(torch.linspace(0.3, 1.2, count, dtype=torch.float64)) if has_levels(network) else network


def output(network: Any, x: Tensor, create_graph: bool = False) -> Tensor:
    """The energy `(B,)`, or the score `(B, *event)` of a network that has none."""
    level = at_level(network, len(x))
    return level(x) if gives_energy(network) else score(level, x, create_graph)


@pytest.mark.parametrize("name", MODELS)
def test_it_gives_a_finite_number_or_vector_for_each_event(name: str) -> None:
    network, x = example_network(name), events(name, 5)
    before = x.clone()
    assert output(network, x).shape == ((5,) if name in ENERGIES else x.shape)
    s = score(at_level(network, 5), x)
    assert (s.shape, s.dtype, s.requires_grad) == (x.shape, x.dtype, False)
    assert torch.isfinite(output(network, x)).all()
    assert torch.isfinite(s).all()
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", MODELS)
def test_its_class_says_whether_it_has_an_energy(name: str) -> None:
    assert getattr(load("models", name).Model, "has_energy", True) == (name in ENERGIES)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter(name: str) -> None:
    network = double(name)
    for progress in (0.0, 1.0) if hasattr(network, "follow") else (0.0,):  # those that learn layer by layer, all layers
        getattr(network, "follow", lambda share: None)(progress)
        output(network, events(name, 5, torch.float64), create_graph=True).square().sum().backward()
    silent = [key for key, weight in network.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert not silent


@pytest.mark.parametrize("name", MODELS)
def test_the_stream_alone_decides_the_weights(name: str) -> None:
    one, same, other = (example_network(name, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", MODELS)
def test_an_event_does_not_depend_on_its_batch(name: str) -> None:
    network, x = double(name).train(), events(name, 4, torch.float64)
    level = at_level(network, 4)
    alone = [network.given(level.sigma[i : i + 1]) if has_levels(network) else network for i in range(4)]
    scores = torch.cat([score(one, x[i : i + 1]) for i, one in enumerate(alone)])
    torch.testing.assert_close(score(level, x), scores, rtol=1e-9, atol=1e-9)
    if name in ENERGIES:
        energies = torch.cat([one(x[i : i + 1]) for i, one in enumerate(alone)])
        torch.testing.assert_close(level(x), energies, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_all_state_is_in_the_state_dict(name: str) -> None:
    network, twin, x = example_network(name), example_network(name, seed=1), events(name, 4)
    for hook in ("renew", "settle"):
        getattr(network, hook, lambda: None)()
    twin.load_state_dict(copy.deepcopy(network.state_dict()))
    for one in (network, twin):
        getattr(one, "renew", lambda: None)()
    assert torch.equal(output(network, x), output(twin, x))
    assert torch.equal(score(fixed(at_level(network, 4)), x), score(fixed(at_level(twin, 4)), x))


@pytest.mark.parametrize("name", ENERGIES)
@pytest.mark.parametrize("sigma", ["a level each", "one level"])
def test_energy_and_score_are_those_of_autograd(name: str, sigma: str) -> None:
    network, x = double(name), events(name, 5, torch.float64)
    level = network.given(0.4) if has_levels(network) and sigma == "one level" else at_level(network, 5)
    value, s = by_autograd(lambda z: level(z), x)
    for own in (level, fixed(level)):
        for found, expected in zip((*energy_and_score(own, x), own(x), score(own, x)), (value, s) * 2, strict=True):
            torch.testing.assert_close(found.detach(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ENERGIES)
def test_parameter_gradients_of_score_and_curvature_are_those_of_autograd(name: str) -> None:
    network, x = double(name), events(name, 3, torch.float64)
    level, v = at_level(network, 3), events(name, 2 * 3, torch.float64, seed=1).reshape(2, *x.shape)
    gradients = []
    for energy in (level, lambda z: level(z)):
        value, s, curvature = energy_score_and_curvature(energy, x, v)
        _, again = energy_and_score(energy, x, create_graph=True)
        loss = value.sum() + s.square().sum() + curvature.sum() + again.square().sum()
        found = torch.autograd.grad(loss, list(network.parameters()), materialize_grads=True)
        gradients.append(torch.cat([part.flatten() for part in found]))
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ENERGIES)
def test_the_energy_of_a_chain_keeps_its_weights_when_the_network_learns(name: str) -> None:
    network, x = double(name), events(name, 3, torch.float64)
    level = network.given(0.4) if has_levels(network) else network
    chain = fixed(level)
    if chain is level:
        pytest.skip("has no closed form")
    before = energy_and_score(chain, x)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    assert all(torch.equal(one, other) for one, other in zip(before, energy_and_score(chain, x), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_settings_have_defaults_and_refuse_unknown_keys(name: str) -> None:
    module = load("models", name)
    assert module.Settings() == module.Settings(**module.Settings().model_dump())
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        module.Settings(no_such_key=1)


@pytest.mark.parametrize("name", MODELS)
def test_it_cites_a_paper_and_a_year(name: str) -> None:
    entry = describe("models", name)
    assert len(entry.paper) > 20
    assert 1900 < entry.year <= 2100
