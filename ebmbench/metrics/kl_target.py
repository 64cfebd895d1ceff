"""KL divergence from what the method aims at (dsm, ncsn: the data smoothed by noise) to the model, by quadrature."""

import torch

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Vincent, A Connection Between Score Matching and Denoising Autoencoders, Neural Computation 23(7), 2011"
YEAR = 2011
DIRECTION = "lower"
NEEDS = ("energy", "target")


def compute(e: Evaluation) -> Value:
    """Equals `kl` for methods whose optimum is the data's density itself."""
    log_target = e.log_target
    p = log_target.exp()
    integrand = torch.where(p > 0, p * (log_target - e.grid.log_q), 0.0)  # 0·log 0 = 0
    return Value(e.grid.integral(integrand), n=len(integrand), protocol=e.grid.protocol)
