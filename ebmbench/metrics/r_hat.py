"""R̂ of the long runs, the largest of the numbers that were traced: 1 where chains have met (see `mixing`).

Traced are the energy, and the coordinates or some projections of the events, along the second half. It tells of the
model *and* its sampler: chains that cannot cross between modes have not met, however good the energy is. A diagnostic:
it has no direction. Verdicts compare it with that of a control.
"""

import math

from ebmbench.metrics.common.evaluation import UNMIXED, Evaluation, Unavailable, Value
from ebmbench.metrics.common.mixing import make_value, r_hat, read_trace

PAPER = "Vehtari et al., Rank-Normalization, Folding, and Localization: An Improved R̂, Bayesian Analysis 16(2), 2021"
YEAR = 2021
LINK = "https://doi.org/10.1214/20-BA1221"
DIRECTION = "none"
NEEDS = ("trace",)
FLOOR = 1.1


def compute(e: Evaluation) -> Value:
    """Over all chains and draws of the trace."""
    worst, name = max((r_hat(draws), name) for name, draws in read_trace(e).items())
    if not math.isfinite(worst):
        raise Unavailable("the traced chains do not move", fault=UNMIXED)
    return make_value(e, worst, name)
