"""Kernel distance: unbiased MMD² between features of samples and data, with the kernel k(x, y) = (x·y/d + 1)³.

    Σ_{i≠j} k(xᵢ, xⱼ)/n(n−1) + Σ_{i≠j} k(yᵢ, yⱼ)/m(m−1) − 2 Σ k(xᵢ, yⱼ)/nm

over all pairs, where the paper takes the mean over random subsets, which adds noise and removes nothing. Unlike FID it
has no bias in n; like every unbiased estimate it can be below zero.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import WHOLE, fidelity

PAPER = "Bińkowski et al., Demystifying MMD GANs, ICLR 2018"
YEAR = 2018
LINK = "https://arxiv.org/abs/1801.01401"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Of all samples and the whole reference."""
    found = fidelity(e)
    return Value(found.kid, n=found.n, protocol=f"{found.protocol}; {WHOLE}")
