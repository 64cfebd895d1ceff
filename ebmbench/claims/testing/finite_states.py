"""Distributions over all states of a few units in {−1, +1}, for claims that enumeration decides.

A distribution is a vector over the 2ⁿ states, a Markov chain a matrix whose row s holds the probabilities of the next
state after s: a step is p ↦ pK. All are float64, and differentiable in the energies.
"""

import torch
from torch import Tensor

from ebmbench.samplers.gibbs import conditional, flip_unit


def all_states(units: int) -> Tensor:
    """All states `(2ⁿ, n)`; the first unit changes slowest, −1 comes first."""
    return torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * units).reshape(-1, units)


def pairwise_energy(parameters: Tensor, x: Tensor) -> Tensor:
    """E(x) = −Σ_{i<j} w_ij x_i x_j − Σ_i b_i x_i of a Boltzmann machine without hidden units; pairs, then biases."""
    one, two = torch.triu_indices(x.shape[1], x.shape[1], 1)
    return -torch.cat([x[:, one] * x[:, two], x], 1) @ parameters


def unit_kernel(e: Tensor, unit: int) -> Tensor:
    """The chain that draws one unit given the others, by the benchmark's Gibbs rule; `e` is E of each state."""
    x = all_states(len(e).bit_length() - 1)
    places = 2 ** torch.arange(x.shape[1] - 1, -1, -1)
    other = ((flip_unit(x, unit) > 0) * places).sum(1)
    on = conditional(x[:, unit], e, e[other])
    stay = torch.where(x[:, unit] > 0, on, 1 - on)
    return torch.diag(stay) + (1 - stay)[:, None] * torch.eye(len(e), dtype=e.dtype)[other]


def sweep_kernel(e: Tensor) -> Tensor:
    """A Gibbs sweep over all units in order, as `samplers/gibbs.py` makes it."""
    units = len(e).bit_length() - 1
    return torch.linalg.multi_dot([unit_kernel(e, unit) for unit in range(units)])


def kl(p: Tensor, q: Tensor) -> Tensor:
    """KL(p‖q), over the last dimension."""
    return (torch.xlogy(p, p) - p * q.log()).sum(-1)
