"""Finite-difference sliced score matching: both terms of sliced score matching from energies alone.

With directions v of identity covariance, M of them for each datum, and E± = E(x ± εv):

    L = mean [½((E− − E+)/2ε)² − (E+ + E− − 2E(x))/ε²],

the central differences of vᵀs and of vᵀ(∇s)v with s = −∇E: ssm's plain form up to O(ε²), without a second derivative.
Pang et al. (2020); Xu (2022) 2.2.3.2. A small ε costs digits: in single precision the second difference is wrong by
about 10⁻⁷|E|/ε². Differs from the paper: v has identity covariance, theirs has 1/D of it, so this loss is D times
theirs; ε is in the data's unit, and so is the score; noise may be added to data (`common/score_matching.py`).
"""

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.score_matching import ScoreMatching, SlicedSettings

PAPER = (
    "Pang, Xu, Li, Song, Ermon & Zhu, Efficient Learning of Generative Models via Finite-Difference Score Matching, "
    "NeurIPS 2020"
)
YEAR = 2020
LINK = "https://arxiv.org/abs/2007.03317"
REMARK_IF = {
    "sigma": "It learns the data *smoothed* by noise of deviation σ.",
}
EXAMPLES = [{"directions": "sphere", "projections": 2}]


def finite_difference_score_matching(energy: Energy, x: Tensor, directions: Tensor, epsilon: float) -> Tensor:
    """The loss for data `(B, *event)` and directions `(M, B, *event)`; `epsilon` in the data's units."""
    steps = epsilon * directions
    events = torch.cat([x[None], x + steps, x - steps])
    at, rest = energy(events.flatten(0, 1)).reshape(len(events), len(x)).split([1, len(events) - 1])
    ahead, behind = rest.chunk(2)
    along = (behind - ahead) / (2 * epsilon)
    curvature = -(ahead + behind - 2 * at) / epsilon**2
    return (0.5 * along.square() + curvature).mean()


class Settings(SlicedSettings):
    """`params.yaml: methods.fd_ssm`."""

    epsilon: float = Field(0.02, gt=0, description="ε, length of a difference in units of the data's scale")


class Method(ScoreMatching):
    """Has no state of its own."""

    settings: Settings

    def match(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh directions."""
        directions = self.settings.draw(x, draw("directions"))
        return finite_difference_score_matching(energy, x, directions, self.settings.epsilon * self.facts.unit)
