"""Multi-layer perceptron energy with a confining quadratic: E(x) = MLP((x − m)/s) + κ ‖(x − m)/s‖².

m and s are the data's mean and standard deviation (one number for all coordinates), κ = 1/18: far from the data
the energy is that of a Gaussian three deviations wide, so Z is finite whatever the network says.

The initialisation decides what is learned. First layer N(0, 9/fan_in) (gain 3) with biases U(−1.5, 1.5), hidden
layers He-normal: with PyTorch's default the units are nearly linear over the data, and every method learns a
ring in place of eight modes.
"""

import math
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn
from torch.nn.functional import silu
from torch.nn.utils import skip_init

from ebmbench.core.facts import Facts

PAPER = "LeCun et al., A Tutorial on Energy-Based Learning, 2006 (any network is an energy; initialisation is ours)"
YEAR = 2006


class Settings(BaseModel):
    """`params.yaml: models.mlp`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(64, ge=1, description="units in each hidden layer")
    layers: int = Field(3, ge=1, description="hidden layers")
    gain: float = Field(3.0, gt=0, description="first layer's weights are N(0, gain²/fan_in)")
    bias: float = Field(1.5, ge=0, description="first layer's biases are U(−bias, bias)")
    confinement: float = Field(1 / 18, ge=0, description="κ, the weight of the quadratic")


class Model(nn.Module):
    """The energy `(B, d) -> (B,)`."""

    centre: Tensor
    scale: Tensor

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        sizes = [math.prod(facts.shape)] + [settings.width] * settings.layers
        # Without skip_init each layer would draw its weights from the global generator, only to be drawn anew.
        self.hidden = nn.ModuleList(skip_init(nn.Linear, i, o) for i, o in zip(sizes, sizes[1:], strict=False))
        self.head = skip_init(nn.Linear, settings.width, 1)
        self.confinement = settings.confinement
        self.register_buffer("centre", torch.tensor(facts.mean).reshape(-1))
        self.register_buffer("scale", torch.tensor(facts.scale))
        self._gain, self._bias = settings.gain, settings.bias

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        for index, layer in enumerate([*self.hidden, self.head]):
            assert isinstance(layer, nn.Linear)
            deviation = (self._gain if index == 0 else math.sqrt(2)) / math.sqrt(layer.in_features)
            bound = self._bias if index == 0 else 0.0
            nn.init.normal_(layer.weight, std=deviation, generator=generator)
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        z = (x.flatten(1) - self.centre) / self.scale
        h = z
        for layer in self.hidden:
            h = silu(layer(h))
        energy: Tensor = self.head(h).squeeze(-1) + self.confinement * z.square().sum(-1)
        return energy
