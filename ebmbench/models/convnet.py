"""ConvNet energies A, B and C of Xu (2022), table 5.1: five convolutions, LeakyReLU, spectral normalisation everywhere.

| | input | convolutions (kernel, stride, padding)×channels | linear |
| --- | --- | --- | --- |
| A | 1×28×28 | (3,1,1)×64, (4,2,1)×128, (4,2,1)×256, (3,2,1)×256, (4,1,0)×1024 | 512, 1 |
| B | 3×32×32 | (3,1,1)×64, (4,2,1)×128, (4,2,1)×256, (4,2,1)×256, (4,1,0)×1024 | 512, 1 |
| C | 3×32×32 | (3,1,1)×64, (4,2,1)×128, (4,2,1)×256, (4,2,1)×512, (4,1,0)×1024 | 512, 256, 1 |

The hidden linear layers of A and B cannot be read with certainty in our copy of the table: one of 512 units is our
choice. One power iteration is taken at each training step (`renew`), none while sampling. The slope of LeakyReLU, 0.2,
is ours too. `width` scales all channels and hidden units, for tests; larger images than the table's are fine.
"""

from typing import Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn
from torch.nn.functional import leaky_relu
from torch.nn.utils import convert_conv2d_weight_memory_format

from ebmbench.core.dataset import Facts
from ebmbench.errors import UserError
from ebmbench.models.common import spectral
from ebmbench.models.common.activations import SLOPE
from ebmbench.models.common.classifier import WithClasses
from ebmbench.models.common.closed_form import ClosedForm
from ebmbench.models.common.convolutional import (
    convolution,
    draw_weights,
    image_shape,
    linear,
    make_stack,
    output_size,
)
from ebmbench.models.common.spectral import Spectral

PAPER = "Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models, Tsinghua University thesis, 2022"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
EXAMPLE = {"variant": "A", "width": 0.05}
EXAMPLE_SHAPE = (1, 28, 28)
SETTLE = 50  # power iterations that follow a jump of the weights

# (kernel, stride, padding, channels)
FIRST = [(3, 1, 1, 64), (4, 2, 1, 128), (4, 2, 1, 256)]
CONVOLUTIONS = {
    "A": [*FIRST, (3, 2, 1, 256), (4, 1, 0, 1024)],
    "B": [*FIRST, (4, 2, 1, 256), (4, 1, 0, 1024)],
    "C": [*FIRST, (4, 2, 1, 512), (4, 1, 0, 1024)],
}
LINEAR = {"A": [512, 1], "B": [512, 1], "C": [512, 256, 1]}


class Settings(BaseModel):
    """`params.yaml: models.convnet`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    variant: Literal["A", "B", "C"] = "B"
    width: float = Field(1.0, gt=0, le=1, description="share of the table's channels")
    normalised: bool = Field(True, description="spectral normalisation")


class Model(WithClasses, nn.Module):
    """The energy `(B, C, H, W) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts, outputs: int = 1) -> None:
        super().__init__()
        channels, *size = image_shape(facts, "convnet")
        self.size = (size[0], size[1])

        def share(count: int) -> int:
            return max(1, round(settings.width * count))

        convolutions = []
        for kernel, stride, padding, units in CONVOLUTIONS[settings.variant]:
            convolutions.append(convolution(channels, share(units), kernel, stride, padding))
            channels, size = share(units), output_size(size, kernel, stride, padding)
        if min(size) < 1:
            least = {"A": "28×28"}.get(settings.variant, "32×32")
            raise UserError(
                f"model convnet {settings.variant}: found images of {facts.shape}, allowed: {least} or larger"
            )
        sizes = [channels * size[0] * size[1], *(share(units) for units in LINEAR[settings.variant][:-1]), outputs]
        linears = [linear(i, o) for i, o in zip(sizes, sizes[1:], strict=False)]
        self.convolutions = nn.ModuleList(Spectral(one) if settings.normalised else one for one in convolutions)
        self.linears = nn.ModuleList(Spectral(one) if settings.normalised else one for one in linears)
        convert_conv2d_weight_memory_format(self, torch.channels_last)  # convolutions are faster in it on a CPU

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights, and u of the normalised layers, from one named stream."""
        draw_weights(self, generator)
        for layer in self.modules():
            if isinstance(layer, Spectral):
                layer.initialise(generator)
        return self

    def renew(self) -> None:
        """One power iteration: called before each training step."""
        spectral.renew(self)

    def settle(self) -> None:
        """Find σ̂ anew: called when averaged weights take the place of the trained ones."""
        spectral.renew(self, SETTLE)

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.joint(x).squeeze(-1)

    def joint(self, x: Tensor) -> Tensor:
        """The outputs `(B, K)`."""
        for layer in self.convolutions:
            x = leaky_relu(layer(x), SLOPE)
        x = x.flatten(1)
        for layer in self.linears[:-1]:
            x = leaky_relu(layer(x), SLOPE)
        value: Tensor = self.linears[-1](x)
        return value

    def fixed(self) -> ClosedForm:
        """The same energy with today's weights, normalised once for a chain."""
        return ClosedForm(make_stack(self.convolutions, self.linears, self.size, "leaky_relu"), flat=False)
