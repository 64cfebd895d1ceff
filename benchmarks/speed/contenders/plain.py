"""Our networks as plain PyTorch: the same layers in an `nn.Sequential`, with spectral norms folded into the weights.

This is what the bare loop and the other libraries are given. Layers are copied as they lie in memory, so that nobody
gains by an order of channels. `require_equal` compares the copy's energies with our network's.
"""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ebmbench.models import convnet, mlp, tiny
from ebmbench.models.common.spectral import Spectral

TOLERANCE = 1e-5


class Plain(nn.Module):
    """E(x) of layers that end in one number, `(B, *event) -> (B,)`."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        """The layers one after the other."""
        return self.layers(x).squeeze(-1)


class Confined(Plain):
    """E(x) = layers(z) + κ‖z‖² with z = (x − m)/s."""

    centre: Tensor
    scale: Tensor

    def __init__(self, layers: nn.Sequential, centre: Tensor, scale: Tensor, confinement: float) -> None:
        super().__init__(layers)
        self.register_buffer("centre", centre.clone())
        self.register_buffer("scale", scale.clone())
        self.confinement = confinement

    def forward(self, x: Tensor) -> Tensor:
        """As the formula says."""
        z = (x.flatten(1) - self.centre) / self.scale
        return self.layers(z).squeeze(-1) + self.confinement * z.square().sum(-1)


def copy_plain(network: nn.Module) -> Plain:
    """A copy of one of our networks that shares nothing with it."""
    if isinstance(network, mlp.Model):
        return Confined(chain_layers(network, nn.SiLU()), network.centre, network.scale, network.confinement)
    if isinstance(network, tiny.Model) and not network.confinement:
        return Plain(chain_layers(network, nn.SiLU()))
    if isinstance(network, convnet.Model):
        return Plain(chain_layers(network, nn.LeakyReLU(convnet.SLOPE)))
    raise TypeError(f"no plain copy of {type(network).__module__}: write one here")


def chain_layers(network: nn.Module, activation: nn.Module) -> nn.Sequential:
    """All convolutions and linear layers in their order, with the activation between them."""
    layers: list[nn.Module] = []
    for layer in fold_layers(network):
        if isinstance(layer, nn.Linear) and layers and isinstance(layers[-2], nn.Conv2d):
            layers.append(nn.Flatten())
        layers += [layer, activation]
    return nn.Sequential(*layers[:-1])


def fold_layers(network: nn.Module) -> Iterator[nn.Module]:
    """Copies of the layers; a normalised layer has the weight W/σ̂."""
    normalised = {layer.layer: layer for layer in network.modules() if isinstance(layer, Spectral)}
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            twin = copy.deepcopy(layer)
            if (spectral := normalised.get(layer)) is not None:
                with torch.no_grad():
                    twin.weight /= spectral.u @ layer.weight.flatten(1) @ spectral.v
            yield twin


@torch.no_grad()
def require_equal(network: nn.Module, twin: nn.Module, x: Tensor) -> None:
    """Raise an `AssertionError` unless both have the same energies at x."""
    torch.testing.assert_close(twin(x), network(x), atol=TOLERANCE, rtol=TOLERANCE)
