"""Adam without the compiler's import takes torch's own steps, and layers without weights are torch's layers."""

import copy

import pytest
import torch
from torch import nn

from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam, skip_init


def steps(kind: type[torch.optim.Adam], fused: bool, split: int | None = None) -> list[torch.Tensor]:
    """Weights and moments after ten steps; after `split` of them the optimiser is rebuilt from its state dict."""
    weights = [nn.Parameter(torch.randn(5, 3, generator=stream(0, "w"))), nn.Parameter(torch.zeros(2))]
    optimiser = kind(weights, lr=0.1, betas=(0.5, 0.999), fused=fused)
    for step in range(10):
        if step == split:
            state = copy.deepcopy(optimiser.state_dict())
            optimiser = kind(weights, lr=0.3, fused=fused)
            optimiser.load_state_dict(state)
        optimiser.zero_grad()
        assert weights[0].grad is None
        (weights[0] * torch.randn(5, 3, generator=stream(step, "x"))).square().sum().backward()  # [1] has no gradient
        optimiser.param_groups[0]["lr"] = 0.1 / (1 + step)
        optimiser.step()
    assert list(optimiser.state_dict()["state"]) == [0]
    return [*(weight.detach() for weight in weights), *optimiser.state_dict()["state"][0].values()]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("split", [None, 4])
def test_its_steps_and_its_state_are_those_of_torch_to_the_last_bit(fused: bool, split: int | None) -> None:
    ours, theirs = steps(Adam, fused, split), steps(torch.optim.Adam, fused)
    assert len(ours) == len(theirs) == 5
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_step_leaves_gradients_on_and_is_not_in_the_graph() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimiser = Adam([weight], lr=0.1, fused=True)
    weight.sum().backward()
    optimiser.step()
    assert torch.is_grad_enabled()
    assert weight.is_leaf
    assert weight.requires_grad


@pytest.mark.usefixtures("untouched_global_generator")
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_without_weights_is_torchs_layer_and_asks_no_generator(bias: bool) -> None:
    layer = skip_init(nn.Conv2d, 2, 4, 3, padding=1, bias=bias)
    with torch.random.fork_rng(devices=[]):
        model = nn.Conv2d(2, 4, 3, padding=1, bias=bias)
    assert repr(layer) == repr(model)
    shapes = {name: (w.shape, w.stride(), w.dtype, w.device) for name, w in layer.named_parameters()}
    assert shapes == {name: (w.shape, w.stride(), w.dtype, w.device) for name, w in model.named_parameters()}
    layer.load_state_dict(model.state_dict())
    x = torch.randn(1, 2, 5, 5, generator=stream(0, "x"))
    assert torch.equal(layer(x), model(x))
