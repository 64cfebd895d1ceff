"""A tiny ConvNet energy for small images: stride-2 convolutions to a point, then two linear layers, SiLU throughout.

With 28×28 grey images and `width` 16 it has 76 993 parameters, and learns MNIST in minutes on one core. The
architecture is that of the UvA deep learning tutorials (Lippe 2022, tutorial 8). `confinement` κ adds κ‖x‖², which
makes Z finite on all of space; 0, as there, leaves that to the box that chains and densities are kept in.

Weights are in the order `channels_last`, in which the convolutions are faster on a CPU.
"""

from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn
from torch.nn.functional import silu
from torch.nn.utils import convert_conv2d_weight_memory_format

from ebmbench.core.dataset import Facts
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

PAPER = "Du & Mordatch, Implicit Generation and Modeling with Energy-Based Models, NeurIPS 2019; layers: Lippe 2022"
YEAR = 2019
LINK = (
    "https://arxiv.org/abs/1903.08689",
    "https://uvadlc-notebooks.readthedocs.io/en/latest/tutorial_notebooks/tutorial8/Deep_Energy_Models.html",
)
EXAMPLE = {"width": 4, "confinement": 0.3}
EXAMPLE_SHAPE = (1, 8, 8)


class Settings(BaseModel):
    """`params.yaml: models.tiny`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(16, ge=1, description="channels of the first convolution; the others have 2, 4, 4 times as many")
    confinement: float = Field(0.0, ge=0, description="κ, the weight of the quadratic")


class Model(WithClasses, nn.Module):
    """The energy `(B, C, H, W) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts, outputs: int = 1) -> None:
        super().__init__()
        channels, *size = image_shape(facts, "tiny")
        self.size = (size[0], size[1])
        w = settings.width
        self.convolutions = nn.ModuleList(
            [
                convolution(channels, w, 5, stride=2, padding=4),
                convolution(w, 2 * w, 3, stride=2, padding=1),
                convolution(2 * w, 4 * w, 3, stride=2, padding=1),
                convolution(4 * w, 4 * w, 3, stride=2, padding=1),
            ]
        )
        self.confinement = settings.confinement
        self.hidden = linear(self._flat(channels, size), 4 * w)
        self.head = linear(4 * w, outputs)
        convert_conv2d_weight_memory_format(self, torch.channels_last)

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        draw_weights(self, generator)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.joint(x).squeeze(-1)

    def joint(self, x: Tensor) -> Tensor:
        """The outputs `(B, K)`, all with the same quadratic."""
        h = x
        for layer in self.convolutions:
            h = silu(layer(h))
        value: Tensor = self.head(silu(self.hidden(h.flatten(1))))
        return value + self.confinement * x.flatten(1).square().sum(1, keepdim=True) if self.confinement else value

    def fixed(self) -> ClosedForm:
        """The same energy with today's weights, for a chain."""
        return ClosedForm(
            make_stack(self.convolutions, [self.hidden, self.head], self.size, "silu"), self.confinement, flat=False
        )

    @torch.no_grad()
    def _flat(self, channels: int, size: list[int]) -> int:
        """Units that the convolutions leave, by their arithmetic: a stride of 2 halves, rounding up."""
        for layer in self.convolutions:
            assert isinstance(layer, nn.Conv2d)
            kernel, padding = layer.kernel_size[0], int(layer.padding[0])
            size = output_size(size, kernel, 2, padding)
            channels = layer.out_channels
        return channels * size[0] * size[1]
