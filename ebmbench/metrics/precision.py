"""Precision: the share of samples whose features lie in the data's manifold, balls to each image's 3rd neighbour."""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import NEIGHBOURS, fidelity

PAPER = "Kynkäänniemi et al., Improved Precision and Recall Metric for Assessing Generative Models, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1904.06991"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """High for good images, however few kinds of them."""
    found = fidelity(e)
    return Value(found.precision, n=found.n, protocol=f"{found.protocol}; k = {NEIGHBOURS}")
