"""Sliced Wasserstein distance of order 2 between samples and test data: the root mean square over random directions."""

import torch
from torch.nn.functional import normalize

from ebmbench.core.streams import stream
from ebmbench.metrics.evaluation import Evaluation, Value

PAPER = "Bonneel et al., Sliced and Radon Wasserstein Barycenters of Measures, JMIV 2015"
YEAR = 2015
DIRECTION = "lower"
SAMPLES = True


def compute(e: Evaluation) -> Value:
    """In one dimension optimal transport matches sorted values; the directions are the same for every model."""
    count = min(len(e.samples), len(e.test))
    x, y = e.samples[:count].double().flatten(1), e.test[:count].double().flatten(1)
    normal = torch.randn(e.settings.projections, x.shape[1], generator=stream(0, "sliced_wasserstein"), dtype=x.dtype)
    directions = normalize(normal, dim=1).mT
    gaps = (x @ directions).sort(0).values - (y @ directions).sort(0).values
    value = float(gaps.square().mean().sqrt())
    return Value(value, n=count, protocol=f"{count} samples, {e.settings.projections} directions")
