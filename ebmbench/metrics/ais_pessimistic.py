"""Held-out log-likelihood with the reverse estimate of log Z by annealed importance sampling: pessimistic.

As `ais_optimistic`, with chains that go back from the model at temperature 1, where adjusted transitions brought
them. Their estimate of log Z is on average too high, so this is on average too *low*: if those chains had settled.
There is no number if they had not, or if a crossed bracket shows that they were elsewhere.
"""

from ebmbench.metrics.ais_optimistic import likelihood
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Burda et al., Accurate and Conservative Estimates of MRF Log-likelihood using Reverse Annealing, AISTATS 2015"
YEAR = 2015
LINK = "https://arxiv.org/abs/1412.8566"
DIRECTION = "higher"
GAP = "oracle_gap"  # where the truth is known
NEEDS = ("energy", "samples")


def compute(e: Evaluation) -> Value:
    """With a standard error of both parts, the test set's mean and log Z."""
    found = e.annealing
    if found.reverse is None or found.crossed:
        raise Unavailable(found.missing or found.crossed)
    return likelihood(e, found.reverse, f"reverse from {found.starts}")
