"""Share of the test events whose label the model's logits put first."""

import math

from ebmbench.metrics.common.classification import classify
from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Grathwohl, Wang, Jacobsen, Duvenaud, Norouzi & Swersky, Your Classifier is Secretly an EBM, ICLR 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/1912.03263"
DIRECTION = "higher"
NEEDS = ("energy", "labels")


def compute(e: Evaluation) -> Value:
    """The error is that of a share of so many events."""
    _, right, protocol = classify(e)
    value = float(right.double().mean())
    error = math.sqrt(value * (1 - value) / len(right))
    return Value(value, error, len(right), protocol)
