"""Langevin dynamics with augmentations: now and then an image is shifted, rescaled, blurred or coloured a little.

Before every `every` Langevin steps (the first, too) each image goes through the `transformations`, in their order, with
noise ε ~ N(0, I) of its own and a strength a:

- `shift`: x(u) ← x(u + aε), in pixels.
- `rescale`: x(u) ← x(c + (u − c)/r), r = exp(aε), about the centre c.
- `blur`: x ← k ∗ x with a Gaussian k of deviation a|ε| pixels, whose weights sum to one at every pixel, at edges too.
- `colour`: x ← x + aε, one ε for each of three channels.
- `elastic`: the warp of `elastic_langevin`, with its `amplitude` and `smoothness`.

Between pixels the value is that of cubic interpolation, beyond the edge that of the edge. A face that is moved or dyed
a little is a face, far from the first in pixels. None of them is a valid transition of exp(−E)/Z, for no Metropolis
step corrects for them; the sources have none either, and the steps in between pull chains back to low energy. `colour`
would be one with such a step, or for an energy that does not see it: it keeps volumes, and the way back is as likely.
The others would not: what leaves at the edge is lost, interpolation averages, and a blur has no way back at all.

Du et al. (2021); Gagnon & Lajoie 5.3.2, 6.3. Differs from the paper: normal and small strengths (its code crops down to
8 % of an image and enlarges that), no mirrored images, and of colours only their shift. Diagnostics: as for Langevin.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import normal
from ebmbench.samplers import elastic_langevin
from ebmbench.samplers.elastic_langevin import pixels, resample

PAPER = "Du, Li, Tenenbaum & Mordatch, Improved Contrastive Divergence Training of Energy-Based Models, ICML 2021"
YEAR = 2021
LINK = "https://proceedings.mlr.press/v139/du21b.html"
EXAMPLE = {"steps": 5, "step_size": 0.1, "every": 2}
EXAMPLE_STATES = "images"
STATIONARY = None  # a transformation moves the target

Transformation = Literal["shift", "rescale", "blur", "colour", "elastic"]


class Settings(elastic_langevin.Settings):
    """`{kind: augmented_langevin, …}` wherever `params.yaml` names a sampler; the rest is Langevin's."""

    kind: Literal["augmented_langevin"] = "augmented_langevin"  # type: ignore[assignment]
    transformations: list[Transformation] = Field(["shift", "rescale", "blur"], min_length=1)
    shift: float = Field(0.5, ge=0, description="deviation in pixels, along a row and along a column")
    rescale: float = Field(0.05, ge=0, description="deviation of the logarithm of the factor")
    blur: float = Field(0.5, ge=0, description="root mean square width of the Gaussian, in pixels")
    colour: float = Field(0.1, ge=0, description="deviation of a channel's shift, in units of lengths")

    def fit_to(self, facts: Facts) -> "Settings":
        """The same settings in the data's own units; pixels are no such lengths."""
        fitted = super().fit_to(facts).model_copy(update={"colour": self.colour * facts.unit})
        assert isinstance(fitted, Settings)
        return fitted

    def no_image(self, shape: Sequence[int]) -> str | None:
        """What is wrong with events of such a shape, if they cannot be transformed."""
        if (reason := super().no_image(shape)) is not None or "colour" not in self.transformations or shape[0] == 3:
            return reason
        return f"transformations: found colour for images of channels: {shape[0]}, allowed: for images of 3 channels"

    def transform(self, x: Tensor, generator: Generator) -> Tensor:
        """Every image by the chosen transformations, one after the other."""
        for name in self.transformations:
            x = self._by(name, x, generator)
        return x

    def _by(self, name: Transformation, x: Tensor, generator: Generator) -> Tensor:
        match name:
            case "shift":
                return shift(x, normal(x.new_empty(len(x), 2), generator), self.shift)
            case "rescale":
                return rescale(x, normal(x.new_empty(len(x)), generator), self.rescale)
            case "blur":
                return blur(x, normal(x.new_empty(len(x)), generator), self.blur)
            case "colour":
                return colour(x, normal(x[:, :, 0, 0], generator), self.colour)
            case "elastic":
                return super().transform(x, generator)


@torch.no_grad()
def shift(x: Tensor, noise: Tensor, strength: float) -> Tensor:
    """Images `(B, C, H, W)` moved by `(B, 2)`: to the left by the first number, and up by the second."""
    return resample(x, (pixels(x) + strength * noise[:, :, None, None]).movedim(1, -1))


@torch.no_grad()
def rescale(x: Tensor, noise: Tensor, strength: float) -> Tensor:
    """Images `(B, C, H, W)` enlarged by exp(strength · noise), `(B,)`, about their centre."""
    height, width = x.shape[-2:]
    centre = torch.tensor([(width - 1) / 2, (height - 1) / 2]).to(x)[:, None, None]
    factor = (strength * noise).exp()[:, None, None, None]
    return resample(x, (centre + (pixels(x) - centre) / factor).movedim(1, -1))


@torch.no_grad()
def blur(x: Tensor, noise: Tensor, strength: float) -> Tensor:
    """Images `(B, C, H, W)` as means over Gaussians of deviation strength · |noise|, `(B,)`, along rows and columns."""
    width = (strength * noise).abs().clamp_min(1e-6)[:, None, None, None]  # of which nothing reaches the next pixel
    rows, columns = ((-(_distances(size, x) / width).square() / 2).softmax(-1) for size in x.shape[-2:])
    return rows @ x @ columns.mT


@torch.no_grad()
def colour(x: Tensor, noise: Tensor, strength: float) -> Tensor:
    """Images `(B, C, H, W)` with a number added to every channel, `(B, C)`."""
    return x + strength * noise[:, :, None, None]


def _distances(size: int, like: Tensor) -> Tensor:
    u = torch.arange(size).to(like)
    return u[:, None] - u
