"""How often the energy is higher on uniform noise than on test images (AUROC): 1 is best, ½ is chance.

Every pixel takes each grey value equally often. `metrics/common/outliers.py` has the formula and the error.
"""

import torch
from torch import Tensor

from ebmbench.core.dataset import from_levels
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.outliers import detect

PAPER = "Hendrycks & Gimpel, A Baseline for Detecting Misclassified and Out-of-Distribution Examples, ICLR 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1610.02136"
DIRECTION = "higher"
NEEDS = ("images", "energy")


def compute(e: Evaluation) -> Value:
    """As many noise images as test images."""

    def beside(x: Tensor) -> tuple[Tensor, Tensor]:
        count = e.facts.image_levels
        return x, from_levels(torch.randint(count, x.shape, generator=stream(0, "outliers", "noise")), count)

    return detect(e, "of uniform noise", beside)
