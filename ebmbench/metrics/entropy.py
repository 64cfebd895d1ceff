"""Differential entropy of samples, in nats, from the distances to their nearest neighbours.

With r the distance of a sample to its k-th neighbour, V the volume of the unit ball in D dimensions and ψ the digamma
function,

    H = ψ(N) − ψ(k) + log V + D · mean log r,   k = 3.

Compare it with that of the oracle, whose samples are data: less is a model (or a sampler) that leaves part of them out
or sits on top of a mode, more is one that spreads. A diagnostic: it has no direction. Kozachenko & Leonenko (1987); the
form for k > 1 is of Kraskov et al. (2004). It is nearly unbiased in few dimensions; in many, distances to neighbours
are all alike and the estimate is far too large, on all models alike only if they resemble each other.
"""

import math

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.neighbours import radii

PAPER = (
    "Kozachenko & Leonenko, Sample Estimate of the Entropy of a Random Vector, Problems of Information Transmission "
    "23(2), 1987; Kraskov, Stögbauer & Grassberger, Estimating mutual information, Physical Review E 69, 2004"
)
YEAR = 1987
LINK = ("https://www.mathnet.ru/eng/ppi797", "https://doi.org/10.1103/PhysRevE.69.066138")
DIRECTION = "none"
SAMPLES = True
NEEDS = ("samples",)
NEIGHBOURS = 3  # k: one neighbour has the least bias, three have a third of its variance


def compute(e: Evaluation) -> Value:
    """Over all samples; the error is over the samples."""
    if e.facts.binary:
        raise Unavailable("binary samples have no density, whose entropy this is")
    if len(e.samples) <= NEIGHBOURS:
        raise Unavailable(f"needs more than {NEIGHBOURS} samples, has {len(e.samples)}")
    terms = entropy_terms(e.samples.double().flatten(1), NEIGHBOURS)
    if not torch.isfinite(terms).all():
        raise Unavailable(f"more than {NEIGHBOURS} samples are the same point")
    error = float(terms.std()) / math.sqrt(len(terms))
    return Value(float(terms.mean()), error, len(terms), f"{e.samples_protocol}, {NEIGHBOURS} neighbours")


def entropy_terms(x: Tensor, k: int) -> Tensor:
    """What each sample of `(N, D)` adds to the mean, `(N,)`."""
    n, d = x.shape
    log_ball = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1)
    count, neighbours = torch.digamma(torch.tensor([n, k], dtype=torch.float64)).tolist()
    return count - neighbours + log_ball + d * radii(x, k).log()
