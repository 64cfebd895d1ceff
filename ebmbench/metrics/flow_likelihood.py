"""Held-out log-likelihood of a noise ladder, by its probability-flow ODE: mean log q(x) over some test events.

In any dimension, and for scores without an energy (`common/flow.py`). Above ten dimensions the divergence is estimated
by Hutchinson's way, without bias; the standard error over events contains the estimate's own, which the protocol names.
Images are made continuous by uniform noise of one grey value's width, as for `ais_optimistic`; but this density lives
in all of space, not in the box of such images.
"""

import math

from ebmbench.metrics.common.annealing_base import dequantise
from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.log_likelihood import mean_value

PAPER = "Song et al., Score-Based Generative Modeling through Stochastic Differential Equations, ICLR 2021"
YEAR = 2021
LINK = "https://arxiv.org/abs/2011.13456"
DIRECTION = "higher"
NEEDS = ("flow",)
EVENTS = 200


def compute(e: Evaluation) -> Value:
    """In nats per event."""
    protocol = e.flow_protocol
    found = e.flow.estimates(dequantise(e.test[:EVENTS], e.facts), e.flow_resolution.steps)
    if len(found) > 1:
        protocol += f" (adds ±{math.sqrt(float(found.var(0).mean()) / found.numel()):.2g})"
    noise = ", dequantised" if e.facts.is_image else ""
    return mean_value(found.mean(0), f"{found.shape[1]} test events{noise}; {protocol}")
