"""Expected calibration error: how far the confidence of the model's predictions is from how often they are right.

    ECE = Σ_m (|B_m|/n) · |acc(B_m) − conf(B_m)|

Confidence is the largest p(y|x); B_m are the test events whose confidence is in the m-th of 15 bins of equal width. By
chance a perfectly calibrated model has up to about √(15/n)/3 on n events.
"""

import torch

from ebmbench.metrics.common.classification import classify
from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Guo, Pleiss, Sun & Weinberger, On Calibration of Modern Neural Networks, ICML 2017"
YEAR = 2017
LINK = "https://proceedings.mlr.press/v70/guo17a.html"
DIRECTION = "lower"
NEEDS = ("energy", "labels")
FLOOR = 0.03
BINS = 15


def compute(e: Evaluation) -> Value:
    """On all test events."""
    confidence, right, protocol = classify(e)
    place = (confidence * BINS).ceil().long().clamp(1, BINS) - 1  # bins are open on the left, as in the paper
    gap = torch.zeros(BINS, dtype=torch.float64).index_add_(0, place, right.double() - confidence)
    return Value(float(gap.abs().sum()) / len(right), n=len(right), protocol=f"{protocol}, {BINS} bins")
