"""Small networks in float64, with weights from a named stream."""

from typing import Any

import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.core.streams import stream
from tests.conftest import gaussian_facts


def network(d: int, model: str = "mlp", seed: int = 0, scale: float = 1.0, **settings: Any) -> nn.Module:
    """A perceptron on events `(d,)`; first-layer weights of order one, so that its derivatives stay moderate."""
    module = load("models", model)
    chosen = module.Settings(**{"width": 8, "layers": 2, "gain": 1.0, **settings})
    made: nn.Module = module.Model(chosen, gaussian_facts(d, scale)).initialise(stream(seed, "weights")).double()
    return made


def events(count: int, *event: int, seed: int = 0) -> Tensor:
    """Standard normal events in float64."""
    return torch.randn(count, *event, generator=stream(seed, "events"), dtype=torch.float64)


def gradient(loss: Tensor, module: nn.Module) -> Tensor:
    """∇θ of a loss as one vector; a weight that the loss does not see has a zero there."""
    found = torch.autograd.grad(loss, list(module.parameters()), retain_graph=True, materialize_grads=True)
    return torch.cat([part.flatten() for part in found])
