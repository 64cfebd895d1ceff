"""Langevin dynamics with elastic deformations: now and then an image is warped a little, then moves on by its energy.

Before every `every` Langevin steps (the first, too) each pixel u of an image is taken from a place near by,

    x(u) ← x(u + d(u)),   d(u) = a · Σ_v k(u, v) ε(v),   k(u, v) ∝ exp(−‖u − v‖²/2ς²),   Σ_v k(u, v)² = 1,

between pixels by cubic interpolation (a linear one blurs small images), beyond the edge from the edge. So d is a
smooth field, and each of its two components is N(0, a²) at every pixel, the edge included. A warped digit is a digit,
far from the first in pixels: a step that the energy's gradient would not find.

This is no sampler of exp(−E)/Z: the warp is neither reversible nor volume-preserving (interpolation averages, so it
shrinks white noise), and no Metropolis step corrects for it. The source has none either; the steps in between pull
chains back to low energy. Differs from the source: the field is drawn on all pixels and smoothed (Simard et al.),
not a spline through a coarse grid; and a training run of at most `every` steps is warped once, at its start, as the
source warps what it takes from its buffer. Diagnostics: as for Langevin.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor
from torch.nn.functional import grid_sample

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import normal_on_cpu
from ebmbench.errors import UserError
from ebmbench.samplers import langevin
from ebmbench.samplers.common.chain import Chain, moments

PAPER = "Du et al., Improved Contrastive Divergence Training, ICML 2021; warp: Simard et al., ICDAR 2003"
YEAR = 2021
LINK = ("https://arxiv.org/abs/2012.01316", "https://doi.org/10.1109/ICDAR.2003.1227801")
EXAMPLE = {"steps": 5, "step_size": 0.1, "every": 2}
EXAMPLE_STATES = "images"
STATIONARY = None  # a warp moves the target


class Settings(langevin.Settings):
    """`{kind: elastic_langevin, …}` wherever `params.yaml` names a sampler; the rest is Langevin's."""

    kind: Literal["elastic_langevin"] = "elastic_langevin"  # type: ignore[assignment]
    every: int = Field(100, ge=1, description="Langevin steps from one deformation to the next")
    amplitude: float = Field(0.5, ge=0, description="a, deviation of each component of the displacement, in pixels")
    smoothness: float = Field(2.0, gt=0, description="ς, width of the Gaussian that smooths it, in pixels")

    @property
    def alike(self) -> bool:
        """A run may be cut only where it is warped."""
        return False

    def parts(self, most: int) -> list["Settings"]:
        """Runs that begin with a deformation, as the whole does there."""
        lengths = [blocks * self.every for blocks in moments(math.ceil(self.steps / self.every), most)]
        lengths[-1] -= sum(lengths) - self.steps
        return [self.model_copy(update={"steps": steps}) for steps in lengths]

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """Images alone can be warped."""
        return None if facts is None else self.no_image(facts.shape)

    def no_image(self, shape: Sequence[int]) -> str | None:
        """What is wrong with events of such a shape, if they cannot be warped."""
        events = f"({', '.join(map(str, shape))})"
        return (
            None if len(shape) == 3 else f"kind: found {self.kind} for events {events}, allowed: for images (C, H, W)"
        )

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        if (reason := self.no_image(x.shape[1:])) is not None:
            raise UserError(f"sampler.{reason}")
        total, chain = torch.zeros(()), Chain(x)
        for start in range(0, self.steps, self.every):
            taken = min(self.every, self.steps - start)
            chain = self._steps(energy, self.transform(chain.x, generator), taken, generator)
            total = total + taken * chain.diagnostics["gradient_norm"]
        return Chain(chain.x, {**chain.diagnostics, "gradient_norm": total / self.steps})

    def transform(self, x: Tensor, generator: Generator) -> Tensor:
        """Every image with a deformation of its own."""
        noise = normal_on_cpu(x[:, :1].expand(-1, 2, -1, -1), generator).to(x)
        return warp(x, noise, self.amplitude, self.smoothness)

    def _steps(self, energy: Energy, x: Tensor, steps: int, generator: Generator) -> Chain:
        noise_std = math.sqrt(self.step_size) if self.noise_std is None else self.noise_std
        limits = langevin.Limits(self.clip, self.box)
        return langevin.langevin(energy, x, steps, self.step_size, noise_std, generator, limits)


@torch.no_grad()
def warp(x: Tensor, noise: Tensor, amplitude: float, smoothness: float) -> Tensor:
    """Images `(B, C, H, W)` with every pixel taken from where its displacement points; the noise is `(B, 2, H, W)`.

    Its first component moves along a row, its second along a column.
    """
    height, width = x.shape[-2:]
    rows, columns = (smoothing(size, smoothness).to(x) for size in (height, width))
    field = amplitude * (rows @ noise @ columns.T)
    return resample(x, (pixels(x) + field).movedim(1, -1))


def pixels(x: Tensor) -> Tensor:
    """Where the pixels of images are, `(2, H, W)`: first along a row, then along a column."""
    height, width = x.shape[-2:]
    y, along = torch.meshgrid(torch.arange(height).to(x), torch.arange(width).to(x), indexing="ij")
    return torch.stack([along, y])


def resample(x: Tensor, places: Tensor) -> Tensor:
    """Images with every pixel taken from its place, `(B, H, W, 2)` in pixels."""
    height, width = x.shape[-2:]
    # grid_sample's own coordinates: −1 is the first pixel's centre and 1 the last one's.
    last = torch.tensor([max(width - 1, 1), max(height - 1, 1)]).to(x)
    return grid_sample(x, 2 * places / last - 1, mode="bicubic", padding_mode="border", align_corners=True)


def smoothing(size: int, smoothness: float) -> Tensor:
    """k along one axis, `(size, size)` in float64, its rows of unit length."""
    u = torch.arange(size, dtype=torch.float64)
    kernel = torch.exp(-(u[:, None] - u).square() / (2 * smoothness**2))
    return kernel / torch.linalg.vector_norm(kernel, dim=1, keepdim=True)
