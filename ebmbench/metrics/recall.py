"""Recall: the share of training images whose features lie in the samples' manifold, balls to the 3rd neighbour."""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import NEIGHBOURS, fidelity

PAPER = "Kynkäänniemi et al., Improved Precision and Recall Metric for Assessing Generative Models, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1904.06991"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Low if samples leave out a part of the data. Grows with the number of samples: compare equal n only."""
    found = fidelity(e)
    return Value(found.recall, n=found.n, protocol=f"{found.protocol}; k = {NEIGHBOURS}")
