"""The layers of a ConvNet as a `Stack`, with the weights that they have today, normalised where they are."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ebmbench.models.common.activations import ACTIVATIONS, Name
from ebmbench.models.common.spectral import Spectral
from ebmbench.models.common.stack import Convolution, Flattening, Layer, Linear, Stack


@torch.no_grad()
def layers_of(
    convolutions: Iterable[nn.Module], linears: Iterable[nn.Module], size: tuple[int, int], activation: Name
) -> Stack:
    """Convolutions on images of `size`, then linear layers, the last of which is the head."""
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
    """The layer and the shape of what it gives; a kernel that covers the whole image is a matrix."""
    plain = _plain(module)
    assert isinstance(plain, nn.Conv2d)
    assert plain.bias is not None
    weight, kernel, stride, padding = _weight(module), plain.kernel_size, plain.stride[0], int(plain.padding[0])
    if kernel == size and padding == 0:
        ordered = weight.permute(0, 2, 3, 1).flatten(1)  # no copy in channels_last
        return Flattening(ordered, plain.bias.detach().clone(), (plain.in_channels, *size)), (0, 0, 0)
    given = [(side + 2 * padding - kernel[0]) // stride + 1 for side in size]
    ordered = weight.contiguous(memory_format=torch.channels_last)
    return Convolution(ordered, plain.bias.detach().clone(), stride, padding, size), (
        plain.out_channels,
        given[0],
        given[1],
    )


def _plain(module: nn.Module) -> nn.Module:
    return module.layer if isinstance(module, Spectral) else module


def _weight(module: nn.Module) -> Tensor:
    assert isinstance(module.weight, Tensor)
    # A copy, unless it is normalised, which makes one: weights that change later shall not change half of a stack.
    return module.weight.detach() if isinstance(module, Spectral) else module.weight.detach().clone()
