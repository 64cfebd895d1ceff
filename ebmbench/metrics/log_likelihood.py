"""Held-out log-likelihood, mean log q(x) of the test set; log Z by quadrature or enumeration, a ladder by its flow."""

import math

from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Theis et al., A note on the evaluation of generative models, ICLR 2016"
YEAR = 2016
DIRECTION = "higher"
GAP = "oracle_gap"  # decides who is bold: the same information, with a zero
NEEDS = ("energy",)


def compute(e: Evaluation) -> Value:
    """In nats per event, with the standard error of the mean over the test set."""
    return mean_value(e.test_log_q, e.test_protocol)


def mean_value(values: Tensor, protocol: str) -> Value:
    """A mean with its standard error."""
    error = float(values.std()) / math.sqrt(len(values))
    return Value(float(values.mean()), error=error, n=len(values), protocol=protocol)
