"""Kullback-Leibler divergence from data to model, KL(p‖q) = ∫ p (log p − log q), by quadrature."""

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Kullback & Leibler, On Information and Sufficiency, 1951"
YEAR = 1951
LINK = "https://doi.org/10.1214/aoms/1177729694"
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """In nats; punishes a model that misses data."""
    p = e.log_truth.exp()
    return Value(e.grid.integral(p * (e.log_truth - e.grid.log_q)), n=len(p), protocol=e.grid.protocol)
