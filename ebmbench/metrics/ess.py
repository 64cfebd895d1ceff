"""Effective sample size of the long runs: how many independent draws their traces are worth (see `mixing`).

The smallest of the numbers that were traced; the trace has some 64 chains with at most 50 draws of each.
A diagnostic: it has no direction.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.mixing import effective_sample_size, make_value, read_trace

PAPER = "Vehtari et al., Rank-Normalization, Folding, and Localization: An Improved R̂, Bayesian Analysis 16(2), 2021"
YEAR = 2021
LINK = "https://doi.org/10.1214/20-BA1221"
DIRECTION = "none"
NEEDS = ("trace",)


def compute(e: Evaluation) -> Value:
    """In draws."""
    return make_value(e, *min((effective_sample_size(draws), name) for name, draws in read_trace(e).items()))
