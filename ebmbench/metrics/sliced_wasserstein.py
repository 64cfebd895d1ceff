"""Sliced Wasserstein distance of order 2 between samples and test data: (mean over directions u of W₂²(xᵀu, yᵀu))^½.

In the plane the directions are evenly spread, at the angles π(i + ½)/128: a midpoint rule, whose error is below 0.1 %.
Above, `metrics.projections` random ones come in orthonormal groups (Rowland et al. 2019): over a whole basis the
squared distance of a shift sums up exactly, so groups differ far less than single directions do.
"""

import math

import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Bonneel et al., Sliced and Radon Wasserstein Barycenters of Measures, JMIV 2015"
YEAR = 2015
LINK = "https://doi.org/10.1007/s10851-014-0506-3"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples",)
FLOOR = 0.1
EVEN = 128  # directions in the plane
GROUPS = 8  # of orthonormal directions, at the least: their spread gives the error
LARGEST = 4_000_000  # projected values held at a time: 32 MB


def compute(e: Evaluation) -> Value:
    """The directions are the same for every model. The error is over the groups of directions; none in the plane."""
    count = min(len(e.samples), len(e.test))
    x, y = e.samples[:count].double().flatten(1), e.test[:count].double().flatten(1)
    directions = choose_directions(x.shape[1], e.settings.projections)
    squares = squared_distances(x, y, directions.flatten(0, 1)).view(directions.shape[:2]).mean(1)
    value, kind, error = math.sqrt(float(squares.mean())), "evenly spread directions", None
    if x.shape[1] != 2:
        kind = f"directions in orthonormal groups of {directions.shape[1]}"
    if len(squares) > 1:
        deviation = float(squares.std()) / math.sqrt(len(squares))
        error, kind = deviation / (2 * value) if value else 0.0, f"{kind}, error: over the groups"
    return Value(value, error, count, f"{count} samples, {directions.shape[:2].numel()} {kind}")


def choose_directions(size: int, count: int) -> Tensor:
    """Unit vectors in groups, `(groups, members, size)`: one group in the plane, else orthonormal ones of ≥ `count`."""
    if size == 2:
        angles = math.pi / EVEN * (torch.arange(EVEN, dtype=torch.float64) + 0.5)
        return torch.stack([angles.cos(), angles.sin()], dim=1).unsqueeze(0)
    members = max(1, min(size, count // GROUPS))
    shape = (math.ceil(count / members), size, members)
    normal = torch.randn(shape, generator=stream(0, "sliced_wasserstein"), dtype=torch.float64)
    return torch.linalg.qr(normal).Q.mT


def squared_distances(x: Tensor, y: Tensor, directions: Tensor) -> Tensor:
    """W₂² along each direction, `(M,)`: in one dimension optimal transport matches sorted values."""
    found = []
    for some in directions.split(max(1, LARGEST // len(x))):  # all at once, unless there are very many samples
        gaps = (x @ some.mT).sort(0).values - (y @ some.mT).sort(0).values
        found.append(gaps.square().mean(0))
    return torch.cat(found)
