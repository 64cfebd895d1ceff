"""Density: in how many of the data's balls a sample lies, over k; a ball reaches to its image's k-th neighbour, k = 5.

The mean over samples. The truth gets 1. Unlike precision, for which one ball is enough, it does not trust the large
ball around an outlier. Above 1 samples crowd where data are dense: read it with coverage, which then falls.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import WIDER, fidelity

PAPER = "Naeem et al., Reliable Fidelity and Diversity Metrics for Generative Models, ICML 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/2002.09797"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """High for good images, however few kinds of them."""
    found = fidelity(e)
    return Value(found.density, n=found.n, protocol=f"{found.protocol}; k = {WIDER}, the truth gets 1")
