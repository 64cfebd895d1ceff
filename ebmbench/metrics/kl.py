"""Kullback-Leibler divergence from data to model, KL(p‖q) = ∫ p (log p − log q), by quadrature or over all states."""

import torch

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Kullback & Leibler, On Information and Sufficiency, 1951"
YEAR = 1951
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """In nats; punishes a model that misses data."""
    p = e.log_truth.exp()
    gain = torch.where(p > 0, p * (e.log_truth - e.grid.log_q), 0.0)  # 0·log 0 = 0
    return Value(e.grid.integral(gain), n=len(p), protocol=e.grid.protocol)
