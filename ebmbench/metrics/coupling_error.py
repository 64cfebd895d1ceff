"""Error of the couplings of pairs of binary units, root mean square over all pairs, in the units of spins ±1.

The coupling of a pair is the mixed difference of log q, a quarter of which is J of J s_i s_j in spins s = 2v − 1:

    4J_ij = log q(1,1) − log q(1,0) − log q(0,1) + log q(0,0), the other units as in the data,

mean over test events. Of a pairwise model (`boltzmann`, and `ising` itself) it is the same for all events and needs no
normaliser; of another energy it is the coupling that the pair has on average where the data are.
"""

import math

import torch
from torch import Tensor

from ebmbench.core.energy import Energy, fixed
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Ravikumar, Wainwright & Lafferty, High-dimensional Ising Model Selection, Annals of Statistics 38(3), 2010"
YEAR = 2010
LINK = "https://doi.org/10.1214/09-AOS691"
DIRECTION = "lower"
NEEDS = ("energy", "density", "binary")
EVENTS = 200
CHUNK = 20  # events at a time: each has four energies for every pair


def compute(e: Evaluation) -> Value:
    """Between the model's and the data's couplings."""
    if not e.facts.binary:
        raise Unavailable("the data are not binary: there are no pairs of units")
    truth, energy, x = e.truth, e.energy, e.test[:EVENTS].double()
    wanted = couplings(lambda v: -truth.log_prob(v), x)
    if not torch.isfinite(wanted).all():
        raise Unavailable("some states never occur in the data, so their couplings are infinite")
    gap = couplings(energy, x) - wanted
    return Value(math.sqrt(float(gap.square().mean())), n=len(gap), protocol=f"{len(gap)} pairs, {len(x)} test events")


@torch.no_grad()
def couplings(energy: Energy, x: Tensor) -> Tensor:
    """J of all pairs i < j, row by row, mean over events `(B, *event)`."""
    energy = fixed(energy)
    parts = [_of_events(energy, part) for part in x.split(CHUNK)]
    return torch.cat(parts).mean(0)


def _of_events(energy: Energy, x: Tensor) -> Tensor:
    """J of all pairs, `(B, pairs)`."""
    flat = x.flatten(1)
    i, j = torch.triu_indices(flat.shape[1], flat.shape[1], 1)
    place, total = torch.arange(len(i)), torch.zeros(len(x), len(i), dtype=x.dtype)
    for first, second in ((1, 1), (1, 0), (0, 1), (0, 0)):
        set_to = flat[:, None].repeat(1, len(i), 1)
        set_to[:, place, i], set_to[:, place, j] = float(first), float(second)
        sign = 1 if first == second else -1
        total -= sign * energy(set_to.reshape(-1, *x.shape[1:])).reshape(len(x), len(i))
    return total / 4
