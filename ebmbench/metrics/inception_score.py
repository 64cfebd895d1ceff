"""Inception score exp E KL(p(y|x)‖p(y)) of samples: sure about each image, and of all classes. At most their number.

p(y|x) is the reference classifier's, or Inception's. It never sees the data: one good image per class is enough. p(y)
is that of all samples. The paper takes the mean over ten parts of them, which is too low if the parts are small.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import WHOLE, fidelity

PAPER = "Salimans et al., Improved Techniques for Training GANs, NeurIPS 2016"
YEAR = 2016
LINK = "https://arxiv.org/abs/1606.03498"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Of all samples, in one split."""
    found = fidelity(e)
    return Value(found.inception_score, n=found.n, protocol=f"{found.protocol}; {WHOLE}")
