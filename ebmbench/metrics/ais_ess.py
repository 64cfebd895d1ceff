"""Effective share of the chains of annealed importance sampling, (Σw)²/(N Σw²), forward.

1: all weights are equal. 1/N: one chain decides, and the forward estimate of log Z says little.
A diagnostic: it has no direction.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Neal, Annealed Importance Sampling, Statistics and Computing 11, 2001"
YEAR = 2001
LINK = "https://doi.org/10.1023/A:1008923215028"
DIRECTION = "none"
NEEDS = ("energy",)


def compute(e: Evaluation) -> Value:
    """Needs the energy alone."""
    found = e.annealing
    return Value(found.forward.share, n=found.forward.chains, protocol=found.protocol)
