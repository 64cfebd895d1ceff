"""What score matching without noise levels shares: smoothing of the data, the unit of the score, random directions.

Data that lie on few grey values or on a thin sheet have no score to match: `sigma` > 0 adds noise first, and what is
learned is the data smoothed by σ. The score is measured in the data's unit, L × unit², so that the length of the
gradient, which is clipped, does not depend on the unit. A method gives its loss of the (smoothed) data.
"""

import math
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core import method
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal
from ebmbench.samplers.common.choice import Sampler

Distribution = Literal["rademacher", "gaussian", "sphere"]


class ScoreMatchingSettings(method.Settings):
    """The noise that smooths data; a method adds its own."""

    learning_rate: float = Field(1e-3, gt=0)
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    sigma: float = Field(0.0, ge=0, description="deviation of noise added to data, in units of lengths; 0: none")


class ScoreMatching(method.Method):
    """Has no state of its own. A method gives `match`."""

    settings: ScoreMatchingSettings
    no_binary = method.NO_SCORE

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch, smoothed if asked for."""
        unit = self.facts.unit
        if self.settings.sigma:
            x = x + self.settings.sigma * unit * normal(x, draw("noise"))
        return unit**2 * self.match(energy, x, draw)

    def match(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """The loss in the data's units."""
        raise NotImplementedError

    @classmethod
    def target(cls, settings: Any, density: Any, scale: float) -> Any:
        """The data's density, smoothed by σ if there is one."""
        return density.smoothed(settings.sigma * scale) if settings.sigma else density


class SlicedSettings(ScoreMatchingSettings):
    """Directions along which the score is matched."""

    projections: int = Field(1, ge=1, description="M, directions per datum")
    directions: Distribution = "rademacher"

    def draw(self, x: Tensor, generator: Generator) -> Tensor:
        """Fresh directions for each datum, `(M, B, *event)`."""
        return draw_directions(self.directions, (self.projections, *x.shape), generator).to(x)


def draw_directions(kind: Distribution, shape: tuple[int, ...], generator: Generator) -> Tensor:
    """Directions `(M, B, *event)` with E[vvᵀ] = I: of ±1, normal, or uniform on the sphere of radius √D.

    On the *unit* sphere the covariance is 1/D, and a trace would come out divided by the dimension.
    """
    if kind == "rademacher":
        return 2.0 * torch.randint(2, shape, generator=generator) - 1.0
    gaussian = torch.randn(shape, generator=generator)
    if kind == "gaussian":
        return gaussian
    length = gaussian.flatten(2).norm(dim=2).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return gaussian * math.sqrt(math.prod(shape[2:])) / length
