"""Layers of ConvNets: made without a global generator, drawn from one named stream, and put into a `Stack`.

Weights have PyTorch's own ranges, U(−1/√fan_in, 1/√fan_in).
"""

import math
from collections.abc import Iterable

import torch
from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.core.torch_compat import skip_init
from ebmbench.errors import UserError
from ebmbench.models.common.activations import ACTIVATIONS, Name
from ebmbench.models.common.spectral import Spectral
from ebmbench.models.common.stack import Convolution, Flattening, Layer, Linear, Stack


def image_shape(facts: Facts, model: str) -> list[int]:
    """`[C, H, W]` of image data; a `UserError` for other data."""
    if len(facts.shape) != 3:
        raise UserError(f"model {model}: found data of shape {facts.shape}, allowed: images (C, H, W)")
    return facts.shape


def output_size(size: Iterable[int], kernel: int, stride: int, padding: int) -> list[int]:
    """Height and width after a convolution."""
    return [(side + 2 * padding - kernel) // stride + 1 for side in size]


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Conv2d:
    """A convolution whose weights are not drawn yet."""
    return skip_init(nn.Conv2d, inputs, outputs, kernel, stride=stride, padding=padding)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer whose weights are not drawn yet."""
    return skip_init(nn.Linear, inputs, outputs)


def draw_weights(network: nn.Module, generator: Generator) -> None:
    """Draw all convolutions and linear layers of a network, in the order of its modules."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bound = 1 / math.sqrt(layer.weight[0].numel())
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            assert layer.bias is not None
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)


@torch.no_grad()
def make_stack(
    convolutions: Iterable[nn.Module], linears: Iterable[nn.Module], size: tuple[int, int], activation: Name
) -> Stack:
    """A `Stack` with the weights of today, normalised where they are.

    Convolutions on images of `size` come first, then linear layers, the last of which is the head.
    """
    layers: list[Layer] = []
    shape = (0, *size)  # of the images that the next layer gets; (0, 0, 0) once they are vectors
    for module in convolutions:
        layer, shape = _convolution(module, (shape[1], shape[2]))
        layers.append(layer)
    for module in linears:
        plain = _plain(module)
        assert isinstance(plain, nn.Linear)
        weight, bias = _weight(module), plain.bias.detach().clone()
        layers.append(Flattening.of(weight, bias, shape) if shape[0] else Linear(weight.contiguous(), bias))
        shape = (0, 0, 0)
    head = layers.pop()
    assert isinstance(head, Linear)
    return Stack(layers, head, ACTIVATIONS[activation])


def _convolution(module: nn.Module, size: tuple[int, int]) -> tuple[Layer, tuple[int, int, int]]:
    """The layer and the shape of its output; a kernel that covers the whole image is a matrix."""
    plain = _plain(module)
    assert isinstance(plain, nn.Conv2d)
    assert plain.bias is not None
    weight, bias, kernel = _weight(module), plain.bias.detach().clone(), plain.kernel_size
    stride, padding = plain.stride[0], int(plain.padding[0])
    if kernel == size and padding == 0:
        ordered = weight.permute(0, 2, 3, 1).flatten(1)  # no copy in channels_last
        return Flattening(ordered, bias, (plain.in_channels, *size)), (0, 0, 0)
    height, width = output_size(size, kernel[0], stride, padding)
    ordered = weight.contiguous(memory_format=torch.channels_last)
    return Convolution(ordered, bias, stride, padding, size), (plain.out_channels, height, width)


def _plain(module: nn.Module) -> nn.Module:
    return module.layer if isinstance(module, Spectral) else module


def _weight(module: nn.Module) -> Tensor:
    assert isinstance(module.weight, Tensor)
    # A copy, unless it is normalised, which makes one: later changes of the weights must not reach the stack.
    return module.weight.detach() if isinstance(module, Spectral) else module.weight.detach().clone()
