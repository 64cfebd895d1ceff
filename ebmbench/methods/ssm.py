"""Sliced score matching: match the score along random directions, which needs no Hessian and no noise.

With s = −∇E and directions v of identity covariance, M of them for each datum:

    L = mean [½(vᵀs)² + vᵀ(∇s)v],   or with `variance_reduced`   mean [½‖s‖² + vᵀ(∇s)v].

Its expectation over v is implicit score matching, ½‖s‖² + tr ∇s (Hyvärinen 2005); the reduced form is Hutchinson's
estimate of the trace alone. v is Rademacher, Gaussian, or uniform on the sphere of radius √D: on the *unit* sphere
the covariance is 1/D, and the trace would come out divided by the dimension. Data that lie on few grey values or on
a thin sheet have no score to match: `sigma` > 0 adds noise first, and what is learned is the data smoothed by σ. Song
et al. (2019); Amini 5.2; Xu (2022) 2.9. Differs from the paper: the score is measured in the data's unit, L × unit², so
that the length of the gradient, which is clipped, does not depend on the unit.
"""

import math
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core import method
from ebmbench.core.energy import Energy, score_and_curvature
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal
from ebmbench.samplers.common.choice import Sampler

PAPER = "Song, Garg, Shi & Ermon, Sliced Score Matching: A Scalable Approach to Density and Score Estimation, UAI 2019"
YEAR = 2019
REMARK = "With `sigma` above zero, as on images, it learns the data *smoothed* by noise of that deviation."
EXAMPLES = [{"directions": "sphere", "variance_reduced": False, "projections": 2}]

Distribution = Literal["rademacher", "gaussian", "sphere"]


def sliced_score_matching(energy: Energy, x: Tensor, directions: Tensor, variance_reduced: bool) -> Tensor:
    """The loss for data `(B, *event)` and directions `(M, B, *event)`."""
    s, curvature = score_and_curvature(energy, x, directions)
    along = s.flatten(1).square().sum(1) if variance_reduced else (directions * s).flatten(2).sum(2).square()
    return (0.5 * along + curvature).mean()


class Settings(method.Settings):
    """`params.yaml: methods.ssm`."""

    learning_rate: float = Field(1e-3, gt=0)
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    projections: int = Field(1, ge=1, description="M, directions per datum")
    directions: Distribution = "rademacher"
    variance_reduced: bool = True
    sigma: float = Field(0.0, ge=0, description="deviation of noise added to data, in units of lengths; 0: none")


class Method(method.Method):
    """Has no state of its own."""

    settings: Settings
    no_binary = method.NO_SCORE

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh directions, smoothed if asked for."""
        unit = self.facts.unit
        if self.settings.sigma:
            x = x + self.settings.sigma * unit * normal(x, draw("noise"))
        shape = (self.settings.projections, *x.shape)
        directions = draw_directions(self.settings.directions, shape, draw("directions")).to(x)
        return unit**2 * sliced_score_matching(energy, x, directions, self.settings.variance_reduced)

    @classmethod
    def target(cls, settings: Settings, density: Any, scale: float) -> Any:
        """The data's density, smoothed by σ if there is one."""
        return density.smoothed(settings.sigma * scale) if settings.sigma else density


def draw_directions(kind: Distribution, shape: tuple[int, ...], generator: Generator) -> Tensor:
    """Directions `(M, B, *event)` with E[vvᵀ] = I."""
    if kind == "rademacher":
        return 2.0 * torch.randint(2, shape, generator=generator) - 1.0
    gaussian = torch.randn(shape, generator=generator)
    if kind == "gaussian":
        return gaussian
    length = gaussian.flatten(2).norm(dim=2).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return gaussian * math.sqrt(math.prod(shape[2:])) / length
