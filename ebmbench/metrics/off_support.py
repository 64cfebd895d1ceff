"""Mass off the support: the model's probability of the region where p < 10⁻³ · max p, by quadrature."""

import math

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
DIRECTION = "lower"
NEEDS = ("energy", "density")
FLOOR = 0.0011
THRESHOLD = 1e-3


def compute(e: Evaluation) -> Value:
    """Shows what a small score error hides: mass in places where there are no data to measure it at."""
    off = e.log_truth < e.log_truth.max() + math.log(THRESHOLD)
    return Value(e.grid.integral(e.grid.log_q[off].exp()), n=len(off), protocol=e.grid.protocol)
