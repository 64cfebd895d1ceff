"""Implicit score matching: match the score of the data without knowing it, by the exact trace of its derivative.

With s = −∇E:

    L = mean [½‖s‖² + tr ∇s].

Partial integration turns ½E‖s − s_data‖² into this and a constant of the data. The trace is the sum of the D second
derivatives along the axes, and each takes a backward pass of its own: exact, without a random direction, and too dear
in many dimensions, where ssm estimates it. Hyvärinen (2005); Xu (2022) 2.2.3.2; Jin 3.1; Amini 5. Differs from the
paper: the unit of the score, and noise that may be added to data (`common/score_matching.py`).
"""

import math

import torch
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, score_and_curvature
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.errors import UserError
from ebmbench.methods.common.score_matching import ScoreMatching, ScoreMatchingSettings
from ebmbench.workspace.layout import PARAMS_YAML

PAPER = "Hyvärinen, Estimation of Non-Normalized Statistical Models by Score Matching, JMLR 6, 2005"
YEAR = 2005
LINK = "https://jmlr.org/papers/v6/hyvarinen05a.html"
REMARK_IF = {
    "sigma": "It learns the data *smoothed* by noise of deviation σ.",
}
EXAMPLES = [{"sigma": 0.1}]
MOST = 64  # coordinates: a step costs 4 + 4D passes


def implicit_score_matching(energy: Energy, x: Tensor) -> Tensor:
    """The loss for data `(B, *event)`."""
    d = x[0].numel()
    axes = torch.eye(d, dtype=x.dtype, device=x.device).reshape(d, 1, *x.shape[1:]).expand(d, *x.shape)
    s, curvature = score_and_curvature(energy, x, axes)
    return (0.5 * s.flatten(1).square().sum(1) + curvature.sum(0)).mean()


class Settings(ScoreMatchingSettings):
    """`params.yaml: methods.ism`."""


class Method(ScoreMatching):
    """Has no state of its own."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        if (d := math.prod(facts.shape)) > MOST:
            found = f"found {d} coordinates on {facts.name}, allowed: at most {MOST}, for each takes a backward pass"
            raise UserError(f"{PARAMS_YAML}: benchmark.methods: ism: {found}; ssm has no such limit")

    def match(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch; only smoothing draws anything."""
        return implicit_score_matching(energy, x)
