"""Reverse Kullback-Leibler divergence, KL(q‖p) = ∫ q (log q − log p), by quadrature."""

import torch

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Kullback & Leibler, On Information and Sufficiency, 1951"
YEAR = 1951
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """In nats.

    Punishes a model that puts mass where there are no data, and steeply: log p is quadratic in the distance.
    """
    q = e.grid.log_q.exp()
    loss = torch.where(q > 0, q * (e.grid.log_q - e.log_truth), 0.0)  # 0·log 0 = 0
    return Value(e.grid.integral(loss), n=len(q), protocol=e.grid.protocol)
