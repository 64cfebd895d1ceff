"""Weights of the modes: every point belongs to the nearest of the data's mode centres.

The reference weights are the data's own masses of the same regions (by quadrature), so the error of the truth
is zero even where the components of a mixture overlap. The error of weights w against p is ½ Σ |w − p|.
"""

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation
from ebmbench.metrics.common.quadrature import Quadrature, in_chunks


def weights(regions: Tensor, mass: Tensor, count: int) -> Tensor:
    """The share of mass `(B,)` in each of `count` regions, `(count,)`."""
    total = torch.zeros(count, dtype=torch.float64).index_add_(0, regions, mass)
    return total / total.sum()


def density_weights(e: Evaluation, log_density: Tensor, grid: Quadrature) -> Tensor:
    """The masses of the regions under a density given on a grid."""
    return weights(in_chunks(e.nearest_mode, grid.points), log_density.exp(), len(e.truth.centres))


def error(found: Tensor, true: Tensor) -> float:
    """½ Σ |w − p|."""
    return 0.5 * float((found - true).abs().sum())
