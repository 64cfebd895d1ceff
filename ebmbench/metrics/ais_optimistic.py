"""Held-out log-likelihood with the forward estimate of log Z by annealed importance sampling: optimistic.

mean −E(x) − log Z over the test set, in nats per event. The forward estimate of log Z is on average too low, so this
is on average too *high*, the more so the fewer chains count (`ais_ess`): a model whose mass the chains do not find
looks better than it is. `ais_pessimistic` is the other side; if the two are crossed, neither has a number. Images
are made continuous by uniform noise of one grey value's width, and the model's density is that on the box of such
images (see `annealing_base`).
"""

import math

import torch
from torch import Tensor

from ebmbench.metrics.common.annealing import Estimate
from ebmbench.metrics.common.annealing_base import dequantise
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.log_likelihood import mean_value

PAPER = "Neal, Annealed Importance Sampling, Statistics and Computing 11, 2001"
YEAR = 2001
LINK = "https://doi.org/10.1023/A:1008923215028"
DIRECTION = "higher"
GAP = "oracle_gap"  # where the truth is known
NEEDS = ("energy",)
CHUNK = 500  # test events at a time: images through a wide network in float64 take room


def compute(e: Evaluation) -> Value:
    """With a standard error of both parts, the test set's mean and log Z."""
    if e.annealing.crossed:
        raise Unavailable(e.annealing.crossed)
    return likelihood(e, e.annealing.forward, "forward")


def likelihood(e: Evaluation, found: Estimate, way: str) -> Value:
    """The mean over the test set with a given estimate of log Z."""
    noise = ", dequantised" if e.facts.is_image else ""
    z = f"log Z = {found.log_z:.4f} ± {found.error:.4f}, {way}"
    own = mean_value(_minus_energy(e) - found.log_z, f"{len(e.test)} test events{noise}; {z}; {e.annealing.protocol}")
    assert own.error is not None
    return Value(own.value, math.hypot(own.error, found.error), own.n, own.protocol)


@torch.no_grad()
def _minus_energy(e: Evaluation) -> Tensor:
    return -torch.cat([e.energy(part) for part in dequantise(e.test, e.facts).split(CHUNK)])
