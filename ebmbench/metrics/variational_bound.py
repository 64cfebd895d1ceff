"""Lower bound of the held-out log-likelihood: mean −E(x) − log Z with the variational energy of a deep machine.

In nats. Given an event the hidden units of `dbn` and `dbm` are dependent, and log Σ_h exp(−E(x, h)) is only bounded
from below (see the models). log Z is exact where the machine can be enumerated; else it is the reverse estimate of
annealing, which is on average too high, so that the whole stays a bound. A model that can draw its bound (`dbn`) is
given `DRAWS` draws for each event, and their spread is in the error. Of another model it is the log-likelihood itself.
"""

import math

import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.log_likelihood import mean_value

PAPER = (
    "Salakhutdinov & Murray, On the Quantitative Analysis of Deep Belief Networks, ICML 2008; "
    "Salakhutdinov & Hinton, Deep Boltzmann Machines, AISTATS 2009"
)
YEAR = 2008
LINK = ("https://doi.org/10.1145/1390156.1390266", "https://proceedings.mlr.press/v5/salakhutdinov09a.html")
DIRECTION = "higher"
NEEDS = ("energy",)
DRAWS = 20


def compute(e: Evaluation) -> Value:
    """With the standard error of the mean over the test set, and that of log Z."""
    log_z, error, how = _log_z(e)
    own = mean_value(_bounds(e) - log_z, f"{len(e.test)} test events; log Z {how}")
    assert own.error is not None
    return Value(own.value, math.hypot(own.error, error), own.n, own.protocol)


def _log_z(e: Evaluation) -> tuple[float, float, str]:
    """log Z, its error, and how it was found."""
    try:
        found, how = e.log_z
        return found, 0.0, how
    except Unavailable:
        bracket = e.annealing
    if bracket.reverse is None or bracket.crossed:
        raise Unavailable(bracket.missing or bracket.crossed)
    return bracket.reverse.log_z, bracket.reverse.error, f"by reverse {bracket.protocol}"


@torch.no_grad()
def _bounds(e: Evaluation) -> Tensor:
    """−E of each test event, or the mean of draws of it."""
    x, drawn = e.test.double(), getattr(e.energy, "sampled_bound", None)
    if drawn is None:
        return -e.energy(x)
    return torch.stack([drawn(x, stream(0, "bound", draw)) for draw in range(DRAWS)]).mean(0)
