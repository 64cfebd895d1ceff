"""The layers that all perceptrons here share: SiLU units, our initialisation, and the slope by the chain rule.

The initialisation decides what is learned. First layer N(0, gain²/fan_in) with biases U(−bias, bias), hidden layers
He-normal: with PyTorch's default the units are nearly linear over the data, and every method learns a ring in
place of eight modes.
"""

import math

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn
from torch.nn.functional import silu

from ebmbench.core.bare import skip_init


class TrunkSettings(BaseModel):
    """The size of a perceptron and where it starts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(64, ge=1, description="units in each hidden layer")
    layers: int = Field(3, ge=1, description="hidden layers")
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
            z = silu(layer(z))
        output: Tensor = self.head(z)
        return output

    @torch.no_grad()
    def value_and_slope(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """f(z), `(B,)`, and ∇f(z), `(B, inputs)`, of a trunk with one output: autograd's numbers in less time."""
        h, inputs = z, []
        for layer in self.hidden:
            inputs.append(layer(h))
            h = silu(inputs[-1])
        back = self.head.weight.expand_as(h)
        for layer, a in zip(reversed(self.hidden), reversed(inputs), strict=True):
            back = torch.ops.aten.silu_backward(back, a) @ layer.weight
        return self.head(h).squeeze(-1), back
