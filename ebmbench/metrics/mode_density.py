"""Error of the modes' weights in the model's density, ½ Σ |w − p|, by quadrature.

Every point belongs to the nearest of the data's mode centres. The reference weights p are the data's own masses of the
same regions, so the truth has no error even where the components of a mixture overlap.
"""

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """What the energy says, whatever a sampler makes of it."""
    regions, count = e.on_grid("nearest mode", e.nearest_mode), len(e.smooth_truth.centres)
    found, true = (region_weights(regions, log_density.exp(), count) for log_density in (e.grid.log_q, e.log_truth))
    return Value(weight_error(found, true), n=len(e.grid.points), protocol=e.grid.protocol)


def region_weights(regions: Tensor, mass: Tensor, count: int) -> Tensor:
    """The share of mass `(B,)` in each of `count` regions, `(count,)`."""
    total = torch.zeros(count, dtype=torch.float64).index_add_(0, regions, mass)
    return total / total.sum()


def weight_error(found: Tensor, true: Tensor) -> float:
    """½ Σ |w − p|."""
    return 0.5 * float((found - true).abs().sum())
