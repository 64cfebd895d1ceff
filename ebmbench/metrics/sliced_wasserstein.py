"""Sliced Wasserstein distance of order 2 between samples and test data: the root mean square over random directions."""

import math

import torch
from torch.nn.functional import normalize

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Bonneel et al., Sliced and Radon Wasserstein Barycenters of Measures, JMIV 2015"
YEAR = 2015
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples",)
FLOOR = 0.1
LARGEST = 4_000_000  # projected values held at a time: 32 MB


def compute(e: Evaluation) -> Value:
    """In one dimension optimal transport matches sorted values; the directions are the same for every model."""
    count = min(len(e.samples), len(e.test))
    x, y = e.samples[:count].double().flatten(1), e.test[:count].double().flatten(1)
    normal = torch.randn(e.settings.projections, x.shape[1], generator=stream(0, "sliced_wasserstein"), dtype=x.dtype)
    directions = normalize(normal, dim=1).mT
    value = 0.0
    for some in directions.split(max(1, LARGEST // count), dim=1):  # all at once, unless there are very many samples
        gaps = (x @ some).sort(0).values - (y @ some).sort(0).values
        value += float(gaps.square().mean()) * (some.shape[1] / directions.shape[1])
    value = math.sqrt(value)
    return Value(value, n=count, protocol=f"{count} samples, {e.settings.projections} directions")
