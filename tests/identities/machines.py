"""Small Boltzmann machines in float64, with weights from a named stream."""

import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.models.boltzmann import Couplings
from ebmbench.models.common.bipartite import Bipartite


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=stream(seed, "boltzmann", *shape), dtype=torch.float64)


def machine(visible: int = 4, hidden: int = 3, seed: int = 0) -> Bipartite:
    return Bipartite(normal(visible, hidden, seed=seed), normal(visible, seed=seed), normal(hidden, seed=seed))


def pairs(units: int = 4, seed: int = 0) -> Couplings:
    upper = normal(units, units, seed=seed).triu(1)
    return Couplings(upper + upper.mT, normal(units, seed=seed))
