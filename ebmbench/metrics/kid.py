"""Kernel distance: unbiased MMD² between features of samples and data, kernel (x·y/d + 1)³, mean over 100 subsets.

Unlike FID it has no bias in n; like every unbiased estimate it can be below zero. The error is the deviation over
the subsets, as is customary: they overlap, so it says how a single subset scatters.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import KID_SUBSETS, fidelity

PAPER = "Bińkowski et al., Demystifying MMD GANs, ICLR 2018"
YEAR = 2018
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Mean and deviation over random subsets."""
    found = fidelity(e)
    subsets = f"{KID_SUBSETS} subsets of {found.kid_subset}, error: their deviation"
    return Value(found.kid, found.kid_deviation, found.n, f"{found.protocol}; {subsets}")
