"""Sliced score matching: match the score along random directions, which needs no Hessian and no noise.

With s = −∇E and directions v of identity covariance, M of them for each datum:

    L = mean [½(vᵀs)² + vᵀ(∇s)v],   or with `variance_reduced`   mean [½‖s‖² + vᵀ(∇s)v].

Its expectation over v is implicit score matching, ½‖s‖² + tr ∇s (Hyvärinen 2005); the reduced form is Hutchinson's
estimate of the trace alone. A vector that a network gives (`model: score_mlp`, `unet`) can take the place of −∇E: the
loss is the same with the trace of that field, and its minimum is the data's score all the same. Such a network is asked
at one noise level, the σ of noise that is added to data, else the data's deviation; it has no density, and what needs
one is not judged. Song et al. (2019); Amini 5.2; Xu (2022) 2.9. Differs from the paper: the unit of the score, and
noise that may be added to data (`common/score_matching.py`). The reduced form is the default: it is Xu's
(2.8), by Hutchinson; Amini's 5.2 and Xu's (2.9) are the plain one, and the paper has both.
"""

from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, score_and_curvature
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.score_matching import ScoreMatching, SlicedSettings

PAPER = "Song, Garg, Shi & Ermon, Sliced Score Matching: A Scalable Approach to Density and Score Estimation, UAI 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1905.07088"
REMARK_IF = {
    "sigma": "It learns the data *smoothed* by noise of deviation σ.",
    "variance_reduced": "Its loss is variance-reduced: random directions estimate the trace alone (Hutchinson).",
}
EXAMPLES = [{"directions": "sphere", "variance_reduced": False, "projections": 2}, {"model": "score_mlp"}]


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
        network = self.judged(self.settings, energy, self.facts)
        return sliced_score_matching(network, x, directions, self.settings.variance_reduced)

    @classmethod
    def level(cls, settings: Settings, facts: Facts) -> float:
        """σ; without noise it is only a scale, that of the data."""
        return settings.sigma * facts.unit or facts.scale
