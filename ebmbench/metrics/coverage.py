"""Coverage: the share of training images with a sample in their ball, which reaches to their 5th neighbour among them.

Balls are around data, not around samples as for recall, so no sample far off covers much. What the truth gets on
average is known, 1 − Π (m − i)/(m + n − i) over i = 1 … 5 for n samples and m images, and stands in the protocol.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import WIDER, fidelity
from ebmbench.metrics.common.neighbours import expected_coverage

PAPER = "Naeem et al., Reliable Fidelity and Diversity Metrics for Generative Models, ICML 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/2002.09797"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Low if samples leave out a part of the data. Grows with the number of samples: compare equal n only."""
    found = fidelity(e)
    best = expected_coverage(found.n, len(found.real["features"]), WIDER)
    return Value(found.coverage, n=found.n, protocol=f"{found.protocol}; k = {WIDER}, the truth gets {best:.3f}")
