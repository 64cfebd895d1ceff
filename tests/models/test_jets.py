"""Parameter gradients of score and curvature, written out, are those of autograd's way back through its way back."""

import pytest
import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.models.common.activations import ACTIVATIONS, Name
from ebmbench.models.common.jets import Jet
from ebmbench.models.common.trunk import Trunk, TrunkSettings

SHAPES = [(1, 2), (3, 2), (2, 20)]  # hidden layers, inputs: few and many go different ways


def trunk(layers: int, inputs: int, activation: Name) -> Trunk:
    made = Trunk(TrunkSettings(width=24, layers=layers, activation=activation, gain=1.0), inputs)
    made.initialise(stream(0, "weights"))
    return made.double()


def drawn(name: str, *shape: int) -> Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def by_autograd(network: Trunk, z: Tensor, directions: Tensor) -> Jet:
    z = z.detach().requires_grad_(True)
    value = network(z).squeeze(-1)
    (slope,) = torch.autograd.grad(value.sum(), z, create_graph=True)
    along = [torch.autograd.grad((slope * v).sum(), z, create_graph=True)[0] for v in directions]
    bends = [(one * v).sum(1) for one, v in zip(along, directions, strict=True)]
    return Jet(value, slope, torch.stack(bends) if bends else z.new_zeros(0, len(z)))


def gradients(network: Trunk, jet: Jet) -> list[Tensor]:
    """Of a loss that weighs value, slope and curvature, each event and direction differently, and not linearly."""
    network.zero_grad()
    values, slopes, bends = (drawn(f"weight {i}", *part.shape) for i, part in enumerate(jet))
    loss = (jet.value * values).sum() + 0.5 * (jet.slope - slopes).square().sum()
    loss = loss + (jet.curvature * bends).sum() + jet.curvature.square().sum()
    loss.backward()
    # A weight that autograd does not reach (the last bias, of a score) has no gradient there and a zero here.
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(("layers", "inputs"), SHAPES)
@pytest.mark.parametrize("activation", ["silu", "softplus"])
def test_value_slope_curvature_and_all_gradients_are_autograds(
    activation: Name, layers: int, inputs: int, count: int
) -> None:
    network, z, directions = trunk(layers, inputs, activation), drawn("z", 11, inputs), drawn("v", count, 11, inputs)
    ours, theirs = network.jet(z, directions), by_autograd(network, z, directions)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
    for one, other in zip(gradients(network, ours), gradients(network, theirs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("layers", "inputs"), SHAPES)
def test_so_are_those_of_units_without_curvature(layers: int, inputs: int) -> None:
    network, z = trunk(layers, inputs, "leaky_relu"), drawn("z", 11, inputs)
    none = z.new_zeros(0, 11, inputs)
    ours, theirs = network.jet(z, none), by_autograd(network, z, none)
    for one, other in zip(gradients(network, ours), gradients(network, theirs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
    assert float(network.jet(z, drawn("v", 1, 11, inputs)).curvature.detach().abs().max()) == 0


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_the_derivatives_of_activations_are_autograds(name: Name) -> None:
    activation, a = ACTIVATIONS[name], torch.linspace(-8, 8, 101, dtype=torch.float64).requires_grad_(True)
    (value, first, second), third = activation.series(a.detach()), activation.third(a.detach())
    expected = [activation.value(a)]
    for _ in range(3):
        grown = expected[-1].requires_grad and torch.autograd.grad(expected[-1].sum(), a, create_graph=True)[0]
        expected.append(grown if isinstance(grown, Tensor) else torch.zeros_like(a))
    for one, other in zip((value, first, second, third), expected, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-10, atol=1e-10)
    g = torch.linspace(1, 2, 101, dtype=torch.float64)
    torch.testing.assert_close(activation.back(g, a.detach()), g * first, rtol=1e-12, atol=1e-12)


def test_a_graph_is_let_go_with_its_loss() -> None:
    """An output that is kept for the way back would hold itself: memory would grow until Python looks for cycles."""
    import gc
    import weakref

    network, z = trunk(2, 2, "silu"), drawn("z", 5, 2)
    gc.disable()
    try:
        jet = network.jet(z, drawn("v", 1, 5, 2))
        watched = weakref.ref(jet.slope)
        del jet
        assert watched() is None
    finally:
        gc.enable()


def test_weights_that_change_before_the_way_back_are_noticed() -> None:
    network, z = trunk(2, 2, "silu"), drawn("z", 5, 2)
    jet = network.jet(z, z.new_zeros(0, 5, 2))
    with torch.no_grad():
        network.hidden[1].weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        jet.slope.square().sum().backward()
