"""Weights from one named stream: PyTorch's own ranges, U(−1/√fan_in, 1/√fan_in), without its global generator."""

import math

from torch import Generator, nn

from ebmbench.core.torch_compat import skip_init


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Conv2d:
    """A convolution whose weights are not drawn yet."""
    layer = skip_init(nn.Conv2d, inputs, outputs, kernel, stride=stride, padding=padding)
    assert isinstance(layer, nn.Conv2d)
    return layer


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer whose weights are not drawn yet."""
    layer = skip_init(nn.Linear, inputs, outputs)
    assert isinstance(layer, nn.Linear)
    return layer


def draw_weights(network: nn.Module, generator: Generator) -> None:
    """Draw all convolutions and linear layers of a network, in the order of its modules."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bound = 1 / math.sqrt(layer.weight[0].numel())
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            assert layer.bias is not None
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
