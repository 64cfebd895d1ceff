"""Closed forms of ConvNets, activations and many events: autograd's numbers, whatever the shape of things."""

from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import by_autograd, energy_and_score, fixed, score
from ebmbench.core.streams import stream
from ebmbench.models.common import closed_form
from ebmbench.models.common.activations import ACTIVATIONS

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
# Sizes at which a stride leaves the last rows unread, colours, sides of different length, a kernel that covers all.
IMAGES = [
    ("convnet", {"variant": "A", "width": 0.1}, (1, 28, 28)),
    ("convnet", {"variant": "A", "width": 0.1, "normalised": False}, (1, 30, 33)),
    ("convnet", {"variant": "B", "width": 0.1}, (3, 32, 32)),
    ("convnet", {"variant": "C", "width": 0.1}, (3, 40, 32)),
    ("tiny", {"width": 4}, (1, 8, 8)),
    ("tiny", {"width": 4, "confinement": 0.3}, (3, 9, 11)),
    ("tiny", {"width": 4}, (4, 28, 28)),
]


def facts(shape: tuple[int, ...]) -> Facts:
    d = torch.Size(shape).numel()
    return Facts("g", list(shape), 1000, 1000, [0.1] * d, [], 2.0, "none", "none")


def made(name: str, settings: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Any:
    module = load("models", name)
    return module.Model(module.Settings(**settings), facts(shape)).initialise(stream(0, "weights")).to(dtype)


def events(count: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(count, *shape, generator=stream(0, "x"), dtype=torch.float64).to(dtype)


def agree(energy: Any, x: Tensor) -> None:
    """E, E with s, and s alone of the fixed energy are autograd's of the energy itself, relative to their size."""
    own, theirs = fixed(energy), by_autograd(energy, x)
    assert own is not energy
    pairs = [(own(x), theirs[0]), *zip(energy_and_score(own, x), theirs, strict=True), (score(own, x), theirs[1])]
    for one, other in pairs:
        assert one.dtype == x.dtype
        assert not one.requires_grad
        assert one.shape == other.shape
        assert float((one - other).abs().max()) <= TOLERANCE[x.dtype] * max(1e-3, float(other.abs().max()))


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize(("name", "settings", "shape"), IMAGES, ids=str)
def test_a_convnets_closed_form_is_autograds(
    name: str, settings: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    agree(made(name, settings, shape, dtype), events(3, shape, dtype))


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_so_is_a_perceptrons_with_every_activation(activation: str, dtype: torch.dtype) -> None:
    network = made("mlp", {"width": 16, "activation": activation, "gain": 1.0}, (2,), dtype)
    agree(network, events(17, (2,), dtype))


@pytest.mark.parametrize(("name", "shape"), [("mlp", (2,)), ("tiny", (1, 8, 8))])
def test_many_events_in_parts_are_the_same_events(
    name: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed_form, "BYTES", 4096)
    monkeypatch.setattr(closed_form, "IMAGES", 3)
    network, x = made(name, {"width": 16}, shape), events(70, shape)
    assert fixed(network).rows < 70
    agree(network, x)


@pytest.mark.parametrize("kind", ["langevin", "mala", "hmc"])
@pytest.mark.parametrize("dtypes", [(torch.float64, torch.float32), (torch.float32, torch.float64)], ids=str)
def test_chains_of_another_precision_than_the_network_keep_theirs(
    kind: str, dtypes: tuple[torch.dtype, torch.dtype]
) -> None:
    network, x = made("mlp", {"width": 16}, (2,), dtypes[0]), events(3, (2,), dtypes[1])
    assert score(fixed(network), x).dtype == x.dtype
    assert (
        load("samplers", kind).Settings(steps=2, step_size=0.01).run(network, x, stream(0, "chain")).x.dtype == x.dtype
    )


def test_a_mean_far_from_zero_does_not_cancel() -> None:
    far = Facts("g", [2], 1000, 1000, [1000.0, -1000.0], [], 1.0, "none", "none")
    module = load("models", "mlp")
    network = module.Model(module.Settings(width=16), far).initialise(stream(0, "weights"))
    x = events(50, (2,), torch.float32) + torch.tensor([1000.0, -1000.0])
    single, double = energy_and_score(fixed(network), x), by_autograd(network.double(), x.double())
    for one, other in zip(single, double, strict=True):
        assert float((one - other).abs().max()) < 1e-5 * max(1.0, float(other.abs().max()))


def test_no_events_give_no_scores_and_others_after_them_theirs() -> None:
    network, x = made("mlp", {"width": 16}, (2,)), events(5, (2,))
    own = fixed(network)
    assert score(own, x[:0]).shape == (0, 2)
    assert torch.equal(score(own, x), score(fixed(network), x))
