"""A small noise-conditional U-Net s(x, σ): the score of image data smoothed by σ, as a vector field of no energy.

With m and s the data's mean and deviation, u = (x − m)/√(s² + σ²) and t = ½ log(σ/s):

    s(x, σ) = UNet(u, t)/σ,

so that the network predicts minus the noise at every level from an input of order one. Two halvings of the image,
residual blocks with group normalisation (each image on its own: nothing depends on the batch), and sines of t that
shift every block. With `patch` 2 the network sees each square of 2 × 2 pixels as one pixel with four times the
channels, and takes about a quarter of the time. Ronneberger et al. (2015) for the shape, Song & Ermon (2019) for its
use; they have a RefineNet with about a hundred times as many weights.
"""

from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn
from torch.nn.functional import interpolate, pixel_shuffle, pixel_unshuffle, silu

from ebmbench.core.dataset import Facts
from ebmbench.errors import UserError
from ebmbench.models.common.convolutional import convolution, draw_weights, image_shape, linear
from ebmbench.models.common.noise_levels import ScoreNetwork

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
EXAMPLE = {"width": 8}
EXAMPLE_SHAPE = (1, 8, 8)
FREQUENCIES = 16


class Settings(BaseModel):
    """`params.yaml: models.unet`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    width: int = Field(32, ge=8, multiple_of=8, description="channels at full size; twice as many below")
    patch: int = Field(1, ge=1, description="side of the squares of pixels that the network sees as one pixel")


class Block(nn.Module):
    """x + conv(silu(norm(conv(silu(norm(x))) + shift))); a 1×1 convolution where the number of channels changes."""

    def __init__(self, inputs: int, outputs: int, embedding: int) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.GroupNorm(8, inputs), nn.GroupNorm(8, outputs)
        self.first, self.second = (
            convolution(inputs, outputs, 3, padding=1),
            convolution(outputs, outputs, 3, padding=1),
        )
        self.shift = linear(embedding, outputs)
        self.skip = convolution(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, embedded: Tensor) -> Tensor:
        """One block; `embedded` is of shape (B, embedding)."""
        h = self.first(silu(self.first_norm(x))) + self.shift(embedded)[:, :, None, None]
        output: Tensor = self.skip(x) + self.second(silu(self.second_norm(h)))
        return output


class Model(ScoreNetwork):
    """The scores of all levels; `given(sigma)` is one of them."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        (channels, *size), width, self.patch = image_shape(facts, "unet"), settings.width, settings.patch
        wide, embedding = 2 * width, 4 * width
        if any(side % self.patch for side in size):
            raise UserError(
                f"models.unet.patch = {self.patch}: must divide both sides of images of {size[0]}×{size[1]}"
            )
        self.register_buffer("centre", torch.tensor(facts.mean).reshape(facts.shape))
        self.register_buffer("scale", torch.tensor(facts.scale))
        self.embed = linear(2 * FREQUENCIES, embedding)
        self.enter = convolution(channels * self.patch**2, width, 3, padding=1)
        self.down = nn.ModuleList([Block(width, width, embedding), Block(wide, wide, embedding)])
        self.halve = nn.ModuleList([convolution(width, wide, 3, 2, 1), convolution(wide, wide, 3, 2, 1)])
        self.middle = Block(wide, wide, embedding)
        self.up = nn.ModuleList([Block(2 * wide, wide, embedding), Block(wide + width, width, embedding)])
        self.leave_norm = nn.GroupNorm(8, width)
        self.leave = convolution(width, channels * self.patch**2, 3, padding=1)

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream; the last layer starts at zero, and so does the score."""
        draw_weights(self, generator)
        nn.init.zeros_(self.leave.weight)
        assert self.leave.bias is not None
        nn.init.zeros_(self.leave.bias)
        return self

    def forward(self, u: Tensor, t: Tensor) -> Tensor:
        """Minus the noise, of shape (B, C, H, W); `t` is of shape (B,)."""
        rates = torch.exp(torch.linspace(-1, 3, FREQUENCIES, dtype=u.dtype, device=u.device))
        angles = t[:, None] * rates
        embedded = silu(self.embed(torch.cat([angles.sin(), angles.cos()], dim=1)))
        h, kept = self.enter(pixel_unshuffle(u, self.patch)), []
        for block, halve in zip(self.down, self.halve, strict=True):
            h = block(h, embedded)
            kept.append(h)
            h = halve(h)
        h = self.middle(h, embedded)
        for block, skip in zip(self.up, reversed(kept), strict=True):
            h = block(torch.cat([interpolate(h, size=skip.shape[2:], mode="nearest"), skip], dim=1), embedded)
        return pixel_shuffle(self.leave(silu(self.leave_norm(h))), self.patch)
