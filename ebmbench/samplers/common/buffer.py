"""Sample buffer: chains that persist between training steps (Tieleman 2008; Du & Mordatch 2019).

A step draws some chains, restarts a fraction of them (from noise, *rejuvenation*, without which the buffer can drift
into a trivial solution, Xu 2022; or from data), moves them, and puts their ends into the buffer. The ends take the
places of the chains that were drawn (`replace: drawn`), so every chain goes on from its own end. Or they take the
places of the oldest entries (`replace: oldest`, first in, first out; Gagnon & Lajoie 5.1.1): then the drawn entries
stay until their time comes, a chain may branch, and one that nobody draws for a round of the buffer is lost.

The buffer is a tensor of the module: a checkpoint holds it whole.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import complete
from ebmbench.core.streams import Draw
from ebmbench.samplers.common.chain import Chain

Replace = Annotated[
    Literal["drawn", "oldest"],
    Field(description="whose places in the buffer new ends take: of the chains drawn, or of the oldest (FIFO)"),
]


class Buffer(nn.Module):
    """A fixed number of chains. A chain that has not begun yet is restarted the first time it is drawn."""

    chains: Tensor
    begun: Tensor
    oldest: Tensor | None  # the place of the oldest entry, if that is the one to leave

    def __init__(self, count: int, shape: Sequence[int], replace: Replace = "drawn") -> None:
        super().__init__()
        self.register_buffer("chains", torch.zeros(count, *shape))
        self.register_buffer("begun", torch.zeros(count, dtype=torch.bool))
        self.register_buffer("oldest", torch.tensor(0) if replace == "oldest" else None)

    def fit_to(self, network: nn.Module) -> None:
        """Make room for the hidden units that chains of some networks carry along."""
        if (units := getattr(network, "row_units", None)) is not None:
            self.chains = torch.zeros(len(self.chains), units)

    def start_from_noise(self, facts: Facts, draw: Draw, network: nn.Module) -> None:
        """Start all chains of a network from noise as wide as the data."""
        self.fit_to(network)
        starts = facts.starts(len(self.chains), draw("buffer"))
        self.chains.copy_(complete(network, starts, lambda: draw("rows")))
        self.begun.fill_(True)

    def advance(self, move: Callable[[Tensor], Chain], fresh: Tensor, rate: float, draw: Draw) -> Chain:
        """Draw as many chains as there are rows in `fresh`, restart each at its row with probability `rate`, and move.

        A buffer with fewer chains gives them all. No chain is drawn twice.
        """
        index = torch.randperm(len(self.chains), generator=draw("pick"))[: len(fresh)]
        restart = (torch.rand(len(index), generator=draw("rejuvenate")) < rate).to(fresh.device)
        restart = (restart | ~self.begun[index]).reshape(-1, *[1] * (fresh.dim() - 1))
        chain = move(torch.where(restart, fresh[: len(index)], self.chains[index]))
        places = self._places(index)
        self.chains[places] = chain.x
        self.begun[places] = True
        return chain

    def _places(self, drawn: Tensor) -> Tensor:
        """Where the ends of the drawn chains go."""
        if self.oldest is None:
            return drawn
        places = (self.oldest + torch.arange(len(drawn), device=self.oldest.device)) % len(self.chains)
        self.oldest.copy_((self.oldest + len(drawn)) % len(self.chains))
        return places
