"""A residual ConvNet with one number per image: what the energies `residual` and `multiscale` are made of.

A convolution to `width` channels, then `stages` times a block, which doubles the channels, and a halving of the sides
by averages. The direct way of a block is a 1×1 convolution. At the end features are averaged over the image.
"""

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, silu
from torch.nn.utils import convert_conv2d_weight_memory_format

from ebmbench.models.common.convolutional import convolution, linear


class ResidualSettings(BaseModel):
    """What both models need."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(16, ge=1, description="channels of the first convolution; each stage doubles them")
    stages: int = Field(2, ge=1, description="residual blocks, each on images half as wide")
    confinement: float = Field(0.0, ge=0, description="κ, the weight of κ‖x‖²")


class Block(nn.Module):
    """h + f(h), f two convolutions with SiLU before each."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, 3, padding=1)
        self.second = convolution(outputs, outputs, 3, padding=1)
        self.direct = convolution(inputs, outputs, 1)

    def forward(self, h: Tensor) -> Tensor:
        """`(B, inputs, H, W) -> (B, outputs, H, W)`."""
        inner: Tensor = self.second(silu(self.first(silu(h))))
        direct: Tensor = self.direct(h)
        return direct + inner


class ResidualNetwork(nn.Module):
    """`(B, C, H, W) -> (B,)`."""

    def __init__(self, settings: ResidualSettings, channels: int) -> None:
        super().__init__()
        widths = [settings.width * 2**stage for stage in range(settings.stages + 1)]
        self.first = convolution(channels, widths[0], 3, padding=1)
        self.blocks = nn.ModuleList(Block(i, o) for i, o in zip(widths, widths[1:], strict=False))
        self.head = linear(widths[-1], 1)
        convert_conv2d_weight_memory_format(self, torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        """One number per image."""
        h = self.first(x)
        for block in self.blocks:
            h = halve(block(h))
        value: Tensor = self.head(silu(h).mean((2, 3)))
        return value.squeeze(-1)


def halve(x: Tensor) -> Tensor:
    """Images of half the sides, rounded up, by averages; those of one pixel as they are."""
    return avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False) if min(x.shape[2:]) > 1 else x
