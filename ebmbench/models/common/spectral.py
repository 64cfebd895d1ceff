"""Spectral normalisation whose power iteration is taken once a training step, by whoever trains, and never by sampling.

A layer uses W/σ̂ with σ̂ = uᵀWv, where u and v approach the leading singular vectors of the matrix W (a convolution's
kernel reshaped to outputs × rest) by one power iteration a step:

    v ← Wᵀu/‖Wᵀu‖,   u ← Wv/‖Wv‖.

Were it done at every forward pass, as PyTorch's own does, the energy would change along each Langevin chain. σ̂ bounds
the reshaped matrix, not the operator of the convolution, so a network of such layers is *not* 1-Lipschitz:
`operator_norm` computes what the convolution really does to an image, with `weight_norm` for comparison. Miyato et
al. (2018).
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import conv2d, conv_transpose2d, linear, normalize


class Spectral(nn.Module):
    """A convolution or linear layer with its weight divided by σ̂; u and v are buffers, so a checkpoint has them."""

    u: Tensor
    v: Tensor

    def __init__(self, layer: nn.Conv2d | nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        rows, columns = layer.weight.shape[0], layer.weight[0].numel()
        self.register_buffer("u", torch.zeros(rows))
        self.register_buffer("v", torch.zeros(columns))

    def initialise(self, generator: Generator) -> None:
        """Random u, then enough iterations that σ̂ is right from the start."""
        self.u.copy_(normalize(torch.randn(len(self.u), generator=generator), dim=0))
        self.iterate(20)

    @torch.no_grad()
    def iterate(self, times: int = 1) -> None:
        """Power iterations."""
        matrix = self.layer.weight.flatten(1)
        for _ in range(times):
            self.v.copy_(normalize(matrix.mT @ self.u, dim=0))
            self.u.copy_(normalize(matrix @ self.v, dim=0))

    def forward(self, x: Tensor) -> Tensor:
        """The layer with W/σ̂; u and v are constants, W in σ̂ is not."""
        if isinstance(self.layer, nn.Linear):
            return linear(x, self.weight, self.layer.bias)
        return conv2d(x, self.weight, self.layer.bias, self.layer.stride, self.layer.padding)

    @property
    def weight(self) -> Tensor:
        """W/σ̂."""
        weight = self.layer.weight
        return weight / (self.u @ weight.flatten(1) @ self.v)


def renew(network: nn.Module, times: int = 1) -> None:
    """Power iterations in all normalised layers of a network."""
    for layer in network.modules():
        if isinstance(layer, Spectral):
            layer.iterate(times)


def weight_norm(layer: nn.Conv2d | nn.Linear) -> float:
    """The largest singular value of the weight, reshaped to a matrix: what σ̂ tends to."""
    return float(torch.linalg.matrix_norm(layer.weight.detach().flatten(1).double(), ord=2))


@torch.no_grad()
def operator_norm(layer: nn.Conv2d, size: tuple[int, int], generator: Generator, times: int = 200) -> float:
    """The largest singular value of the convolution as a map of images of `size`, by power iteration on it."""
    weight, stride, padding = layer.weight.detach().double(), layer.stride[0], int(layer.padding[0])
    x = torch.randn(1, layer.in_channels, *size, generator=generator, dtype=weight.dtype)
    for _ in range(times):
        x = x / x.norm()
        y = conv2d(x, weight, stride=stride, padding=padding)
        back = conv_transpose2d(y, weight, stride=stride, padding=padding)
        # A stride may leave the last rows and columns of the image unread: their gradient is zero.
        x = torch.nn.functional.pad(back, (0, size[1] - back.shape[3], 0, size[0] - back.shape[2]))
    return float(y.norm())
