"""Sample buffer: chains that persist between training steps (Tieleman 2008; Du & Mordatch 2019).

A step draws `count` chains from the buffer, restarts a fraction of them from noise (*rejuvenation*; without it
the buffer can drift into a trivial solution, Xu 2022), moves them, and puts them back. The buffer is a tensor
of the module: a checkpoint holds it whole.
"""

import torch
from torch import Generator, Tensor, nn


class Buffer(nn.Module):
    """A fixed number of chains, all started from the tensor it is given."""

    chains: Tensor

    def __init__(self, chains: Tensor) -> None:
        super().__init__()
        self.register_buffer("chains", chains.clone())

    def pick(self, count: int, generator: Generator) -> Tensor:
        """Indices of `count` different chains."""
        return torch.randperm(len(self.chains), generator=generator)[:count]

    def starts(self, index: Tensor, fresh: Tensor, rejuvenation: float, generator: Generator) -> Tensor:
        """The chosen chains, each replaced by its row of `fresh` with probability `rejuvenation`."""
        restart = torch.rand(len(index), generator=generator) < rejuvenation
        restart = restart.reshape(-1, *[1] * (fresh.dim() - 1))
        return torch.where(restart, fresh, self.chains[index])

    def store(self, index: Tensor, chains: Tensor) -> None:
        """Put moved chains back in their places."""
        self.chains[index] = chains.detach()
