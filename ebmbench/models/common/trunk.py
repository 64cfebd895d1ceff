"""The layers that all perceptrons here share: one activation, our initialisation, and their closed form.

The initialisation decides what is learned. First layer N(0, gain²/fan_in) with biases U(−bias, bias), hidden layers
He-normal: with PyTorch's default the units are nearly linear over the data, and every method learns a ring in
place of eight modes.
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.core.torch_compat import skip_init
from ebmbench.models.common.activations import ACTIVATIONS, Name
from ebmbench.models.common.closed_form import ClosedForm
from ebmbench.models.common.jets import Jet, jet
from ebmbench.models.common.stack import Entry, Linear, Stack


class TrunkSettings(BaseModel):
    """The size of a perceptron and where it starts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(64, ge=1, description="units in each hidden layer")
    layers: int = Field(3, ge=1, description="hidden layers")
    activation: Name = Field("silu", description="of the hidden units")
    gain: float = Field(3.0, gt=0, description="first layer's weights are N(0, gain²/fan_in)")
    bias: float = Field(1.5, ge=0, description="first layer's biases are U(−bias, bias)")


class Trunk(nn.Module):
    """`(B, inputs) -> (B, outputs)`."""

    def __init__(self, settings: TrunkSettings, inputs: int, outputs: int = 1) -> None:
        super().__init__()
        sizes = [inputs] + [settings.width] * settings.layers
        # Without skip_init each layer would draw its weights from the global generator, only to be drawn anew.
        self.hidden = nn.ModuleList(skip_init(nn.Linear, i, o) for i, o in zip(sizes, sizes[1:], strict=False))
        self.head = skip_init(nn.Linear, settings.width, outputs)
        self.activation = ACTIVATIONS[settings.activation]
        self._gain, self._bias = settings.gain, settings.bias

    def initialise(self, generator: Generator) -> None:
        """Draw all weights from one named stream."""
        for index, layer in enumerate([*self.hidden, self.head]):
            assert isinstance(layer, nn.Linear)
            deviation = (self._gain if index == 0 else math.sqrt(2)) / math.sqrt(layer.in_features)
            bound = self._bias if index == 0 else 0.0
            nn.init.normal_(layer.weight, std=deviation, generator=generator)
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)

    def forward(self, z: Tensor) -> Tensor:
        """The layers one after the other."""
        for layer in self.hidden:
            z = self.activation.value(layer(z))
        output: Tensor = self.head(z)
        return output

    def jet(self, z: Tensor, directions: Tensor) -> Jet:
        """Value, slope and curvature along directions, of a trunk with one output, in the graph of a loss."""
        layers = [(layer.weight, layer.bias) for layer in (*self.hidden, self.head)]
        return jet(layers, self.activation, z, directions)

    @torch.no_grad()
    def closed_form(self, kappa: float, centre: Tensor, scale: Tensor, level: "Level | None" = None) -> ClosedForm:
        """E(x) = factor · trunk((x − m)/s, context) + κ‖(x − m)/s‖² with today's weights."""
        pairs = [(layer.weight.detach(), layer.bias.detach()) for layer in (*self.hidden, self.head)]
        # Copies: weights that change later shall not change half of it.
        first, *rest, head = [Linear(weight.clone(), bias.clone()) for weight, bias in pairs]
        bias = first.bias
        if level is not None:
            bias = bias + first.weight[:, len(centre) :] @ level.context
            head = Linear(head.weight * level.factor, head.bias * level.factor)
        entry = Entry((first.weight[:, : len(centre)] / scale).contiguous(), bias)
        return ClosedForm(Stack([entry, *rest], head, self.activation), kappa / float(scale) ** 2, centre)


class TrunkNetwork(nn.Module):
    """Base of the perceptrons: a trunk, and the data's mean and deviation as buffers."""

    centre: Tensor
    scale: Tensor

    def __init__(self, settings: TrunkSettings, facts: Facts, inputs: int, outputs: int = 1) -> None:
        super().__init__()
        self.trunk = Trunk(settings, inputs, outputs)
        self.register_buffer("centre", torch.tensor(facts.mean).reshape(-1))
        self.register_buffer("scale", torch.tensor(facts.scale))

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        self.trunk.initialise(generator)
        return self


@dataclass(frozen=True)
class Level:
    """What a noise level adds to a trunk: inputs `(k,)` that are the same for all events, and a factor."""

    context: Tensor
    factor: Tensor
