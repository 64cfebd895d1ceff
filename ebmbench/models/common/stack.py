"""Value and input gradient of a network of layers, by the chain rule written out: no autograd, weights as constants.

For f(x) = wᵀh_L + b, h_i = φ(a_i), a_i = W_i h_{i−1} + b_i, h_0 = x:

    ∇f = W₁ᵀ(φ′(a₁) ⊙ W₂ᵀ(φ′(a₂) ⊙ … w)).

It gives autograd's numbers to rounding, without building a graph, and its weights are made ready once for a whole
chain. Images are kept in the order `channels_last`, in which the convolutions here are up to twice as fast on a CPU,
a convolution whose kernel covers all of its input is the matrix that it is, and the gradient of the first layer, which
has few channels to give back, is a product of matrices and `fold`: five times as fast as the transposed convolution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import conv2d, conv_transpose2d, fold, linear

from ebmbench.core.energy import marginal
from ebmbench.models.common.activations import Activation

FEW = 3  # channels of an image


class Layer(Protocol):
    """An affine map, and its transpose."""

    def __call__(self, h: Tensor) -> Tensor:
        """W·h + b."""

    def back(self, g: Tensor) -> Tensor:
        """Wᵀ·g."""


@dataclass(frozen=True)
class Linear:
    """`(B, inputs) -> (B, outputs)`; `weight` is (outputs, inputs)."""

    weight: Tensor
    bias: Tensor

    def __call__(self, h: Tensor) -> Tensor:
        """W·h + b."""
        return torch.addmm(self.bias, h, self._transpose)

    def back(self, g: Tensor) -> Tensor:
        """Wᵀ·g."""
        return torch.mm(g, self.weight)

    @cached_property
    def _transpose(self) -> Tensor:
        return self.weight.t()


@dataclass(frozen=True)
class Entry(Linear):
    """A first layer: its way back is a product with Wᵀ laid out anew, up to three times as fast for few inputs."""

    def back(self, g: Tensor) -> Tensor:
        """Wᵀ·g."""
        return torch.mm(g, self._column_major)

    @cached_property
    def _column_major(self) -> Tensor:
        return self.weight.t().contiguous().t()


@dataclass(frozen=True)
class Flattening:
    """A linear layer on images `(B, C, H, W)`; the columns of `weight` are in the order H, W, C."""

    weight: Tensor
    bias: Tensor
    shape: tuple[int, int, int]

    def __call__(self, h: Tensor) -> Tensor:
        """W·h + b, `(B, outputs)`."""
        return linear(h.permute(0, 2, 3, 1).flatten(1), self.weight, self.bias)

    def back(self, g: Tensor) -> Tensor:
        """Wᵀ·g, in channels_last."""
        channels, *size = self.shape
        return (g @ self.weight).view(-1, *size, channels).permute(0, 3, 1, 2)

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, shape: tuple[int, int, int]) -> "Flattening":
        """From a weight whose columns are in the order C, H, W."""
        ordered = weight.reshape(-1, *shape).permute(0, 2, 3, 1).flatten(1).contiguous()
        return cls(ordered, bias, shape)


@dataclass(frozen=True)
class Convolution:
    """`(B, C, H, W) -> (B, C′, H′, W′)` on images of `size` (H, W), with one stride and padding for both sides."""

    weight: Tensor
    bias: Tensor
    stride: int
    padding: int
    size: tuple[int, int]

    def __call__(self, h: Tensor) -> Tensor:
        """W·h + b."""
        return conv2d(h, self.weight, self.bias, self.stride, self.padding)

    def back(self, g: Tensor) -> Tensor:
        """Wᵀ·g: the transposed convolution."""
        outputs, inputs, kernel, _ = self.weight.shape
        if inputs <= FEW:
            columns = self.weight.reshape(outputs, -1).mT @ g.flatten(2)
            return fold(columns, self.size, kernel, padding=self.padding, stride=self.stride)
        # A stride may leave the last rows and columns of the image unread: their gradient is zero.
        read = (g.shape[2] - 1) * self.stride - 2 * self.padding + kernel
        wide = (g.shape[3] - 1) * self.stride - 2 * self.padding + kernel
        unread = (self.size[0] - read, self.size[1] - wide)
        return conv_transpose2d(g, self.weight, None, self.stride, self.padding, unread)


class Stack:
    """f(x), `(B, …) -> (B,)`: layers with an activation after each but the last, which has one output.

    A head with K outputs f_k, the energies of classes, gives f = −log Σ_k exp(−f_k), whose gradient is Σ_k p_k ∇f_k
    with p the softmax of −f.
    """

    def __init__(self, layers: Sequence[Layer], head: Linear, activation: Activation) -> None:
        self.layers, self.head, self.activation = layers, head, activation
        self._row = self._rows = -head.weight
        self.dtype = head.weight.dtype

    def __call__(self, x: Tensor) -> Tensor:
        """f(x)."""
        for layer in self.layers:
            x = self.activation.value(layer(x))
        return self._pool(self.head(x))

    def value_and_descent(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x) and −∇f(x)."""
        inputs = self._activation_inputs(x)
        return self._pool(self.head(self.activation.value(inputs[-1]))), self._descent(inputs)

    def descent(self, x: Tensor) -> Tensor:
        """−∇f(x), for which the last hidden layer's activation is not needed."""
        return self._descent(self._activation_inputs(x))

    def _pool(self, outputs: Tensor) -> Tensor:
        return outputs.squeeze(-1) if len(self.head.weight) == 1 else marginal(-outputs)

    def _activation_inputs(self, x: Tensor) -> list[Tensor]:
        """a₁ … a_L."""
        inputs = [self.layers[0](x)]
        for layer in self.layers[1:]:
            inputs.append(layer(self.activation.value(inputs[-1])))
        return inputs

    def _descent(self, inputs: list[Tensor]) -> Tensor:
        back, plain = self.activation.back, len(self.head.weight) == 1
        g = self._downhill(inputs[-1]) if plain else self._shared_downhill(inputs[-1])
        for layer, a in zip(reversed(self.layers), reversed(inputs), strict=True):
            g = layer.back(back(g, a))
        return g

    def _downhill(self, h: Tensor) -> Tensor:
        """−w for each event as a full tensor: kernels are slow on expanded rows."""
        if self._rows.shape[0] != h.shape[0]:
            self._rows = self._row.expand(h.shape[0], -1).contiguous()
        return self._rows

    def _shared_downhill(self, a: Tensor) -> Tensor:
        """−Σ_k p_k w_k for each event."""
        return torch.softmax(-self.head(self.activation.value(a)), 1) @ self._row
