"""Inception score exp E KL(p(y|x)‖p(y)) of samples: sure about each image, and of all classes. At most their number.

p(y|x) is the reference classifier's, or Inception's. It never sees the data: one good image per class is enough.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import IS_SPLITS, fidelity

PAPER = "Salimans et al., Improved Techniques for Training GANs, NeurIPS 2016"
YEAR = 2016
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Mean and deviation over splits."""
    found = fidelity(e)
    splits = f"{IS_SPLITS} splits, error: their deviation"
    return Value(found.inception_score, found.inception_deviation, found.n, f"{found.protocol}; {splits}")
