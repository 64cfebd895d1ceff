"""Sliced score matching: match the score along random directions, which needs no Hessian and no noise.

With s = −∇E and directions v of identity covariance, M of them for each datum:

    L = mean [½(vᵀs)² + vᵀ(∇s)v],   or with `variance_reduced`   mean [½‖s‖² + vᵀ(∇s)v].

Its expectation over v is implicit score matching, ½‖s‖² + tr ∇s (Hyvärinen 2005); the reduced form is Hutchinson's
estimate of the trace alone. Song et al. (2019); Amini 5.2; Xu (2022) 2.9. Differs from the paper: the unit of the
score, and noise that may be added to data (`common/score_matching.py`).
"""

from torch import Tensor

from ebmbench.core.energy import Energy, score_and_curvature
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common import score_matching
from ebmbench.methods.common.score_matching import ScoreMatching, SlicedSettings

PAPER = "Song, Garg, Shi & Ermon, Sliced Score Matching: A Scalable Approach to Density and Score Estimation, UAI 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1905.07088"
REMARK = score_matching.REMARK
EXAMPLES = [{"directions": "sphere", "variance_reduced": False, "projections": 2}]


def sliced_score_matching(energy: Energy, x: Tensor, directions: Tensor, variance_reduced: bool) -> Tensor:
    """The loss for data `(B, *event)` and directions `(M, B, *event)`."""
    s, curvature = score_and_curvature(energy, x, directions)
    along = s.flatten(1).square().sum(1) if variance_reduced else (directions * s).flatten(2).sum(2).square()
    return (0.5 * along + curvature).mean()


class Settings(SlicedSettings):
    """`params.yaml: methods.ssm`."""

    variance_reduced: bool = True


class Method(ScoreMatching):
    """Has no state of its own."""

    settings: Settings

    def match(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh directions."""
        directions = self.settings.draw(x, draw("directions"))
        return sliced_score_matching(energy, x, directions, self.settings.variance_reduced)
