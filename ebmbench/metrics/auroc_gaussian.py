"""How often the energy is higher on Gaussian noise than on test images (AUROC): 1 is best, ½ is chance.

The noise has the mean and the covariance of up to `MOMENTS` training images: with w standard normal,

    y = m + Σ_n w_n (x_n − m)/√(N − 1),

rounded to grey values and cut at the box, as images are. A model that knows two moments only cannot tell it from data.
`metrics/common/outliers.py` has the formula and the error.
"""

import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import from_levels, to_levels
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.outliers import detect

PAPER = "Hendrycks & Gimpel, A Baseline for Detecting Misclassified and Out-of-Distribution Examples, ICLR 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1610.02136"
DIRECTION = "higher"
NEEDS = ("images", "energy")
MOMENTS = 5000  # training images, at most


def compute(e: Evaluation) -> Value:
    """As many noise images as test images."""

    def beside(x: Tensor) -> tuple[Tensor, Tensor]:
        if e.train is None:
            raise Unavailable("there are no training images, whose moments the noise has")
        rows = e.train[torch.randperm(len(e.train), generator=stream(0, "outliers", "moments"))[:MOMENTS]]
        noise = draw_alike(rows, len(x), stream(0, "outliers", "gaussian"))
        return x, from_levels(to_levels(noise, e.facts.image_levels), e.facts.image_levels)

    return detect(e, "of Gaussian noise", beside)


def draw_alike(rows: Tensor, count: int, generator: Generator) -> Tensor:
    """Gaussian events `(count, *event)` with the mean and the covariance of rows `(N, *event)`."""
    mean = rows.mean(0, keepdim=True)
    weights = torch.randn(count, len(rows), generator=generator) / (len(rows) - 1) ** 0.5
    return mean + (weights @ (rows - mean).flatten(1)).reshape(count, *rows.shape[1:])
