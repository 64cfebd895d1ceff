"""A classifier as an energy: what its logits say of it, in closed form and by autograd, for every network that can."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load, names
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import fixed, score
from ebmbench.core.streams import stream
from ebmbench.models.common.classifier import Classifier
from tests.models.test_stack import agree, events, facts

SIZES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "convnet": ({"variant": "A", "width": 0.05}, (1, 28, 28)),
    "mlp": ({"width": 8, "confinement": 0.3}, (3,)),
    "tiny": ({"width": 3, "confinement": 0.3}, (1, 8, 8)),
}
NETWORKS = [name for name in names("models") if hasattr(load("models", name).Model, "classifier")]


def labelled(name: str, classes: int) -> Facts:
    return replace(facts(SIZES[name][1]), classes=list("abcdefghij")[:classes])


def made(name: str, classes: int = 10, dtype: torch.dtype = torch.float64) -> tuple[Classifier, Tensor]:
    """A classifier, moved from where it starts, and some events."""
    module, (settings, shape) = load("models", name), SIZES[name]
    found = module.Model.classifier(module.Settings(**settings), labelled(name, classes))
    found.initialise(stream(0, "weights")).to(dtype)
    for layer in found.parameters():
        layer.data.mul_(1.5)
    found.renew()
    return found, events(5, shape, dtype)


def test_these_networks_give_logits() -> None:
    assert list(SIZES) == NETWORKS


@pytest.mark.parametrize("name", NETWORKS)
def test_the_energy_is_minus_the_log_of_the_sum_over_classes(name: str) -> None:
    energy, x = made(name)
    f = energy.logits(x)
    assert f.shape == (5, 10)
    assert f.std(1).min() > 1e-3  # logits differ between classes
    torch.testing.assert_close(energy(x), -f.exp().sum(1).log(), rtol=1e-12, atol=1e-12)
    own = torch.tensor([3, 1, 4, 1, 5])
    torch.testing.assert_close(energy.of_classes(own)(x), -f[torch.arange(5), own], rtol=0, atol=0)
    # p(y|x) = exp(−E(x, y) + E(x)): Bayes' rule.
    every = torch.stack([energy.of_classes(torch.full((5,), y))(x) for y in range(10)], dim=1)
    torch.testing.assert_close((energy(x)[:, None] - every).exp(), f.softmax(1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", NETWORKS)
def test_its_closed_form_is_autograds(name: str, dtype: torch.dtype) -> None:
    agree(*made(name, dtype=dtype))


@pytest.mark.parametrize("name", NETWORKS)
def test_of_one_class_it_is_the_energy_of_the_network(name: str) -> None:
    module, energy, x = load("models", name), *made(name, classes=1)
    plain = module.Model(module.Settings(**SIZES[name][0]), labelled(name, 1)).double()
    plain.load_state_dict(energy.network.state_dict())
    assert torch.equal(energy(x), plain(x))
    assert torch.equal(score(fixed(energy), x), score(fixed(plain), x))


@pytest.mark.parametrize("name", NETWORKS)
def test_its_hidden_layers_start_as_those_of_the_energy_do(name: str) -> None:
    module = load("models", name)
    settings, many = module.Settings(**SIZES[name][0]), labelled(name, 4)
    one, other = (kind(settings, many).initialise(stream(0, "w")) for kind in (module.Model.classifier, module.Model))
    shared = [(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True) if a.shape == b.shape]
    assert len(shared) == len(list(other.parameters())) - 2  # all but the head
    assert all(torch.equal(a, b) for a, b in shared)


def test_a_normalised_network_is_renewed_and_settled_through_it() -> None:
    energy, x = made("convnet")
    for hook in (energy.renew, energy.settle):
        before = energy(x)
        hook()
        assert not torch.equal(before, energy(x))
