"""The Metropolis rule: go to the proposal with probability min(1, r), else stay.

With r = p(x′) q(x | x′) / (p(x) q(x′ | x)) the step leaves p in place, whatever the proposal q (Hastings 1970).
"""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from ebmbench.core.streams import uniform


def accepted(log_ratio: Tensor, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Which chains move, `(B,)`. A ratio that is not a number (∞ − ∞) is refused."""
    return uniform(log_ratio.to(dtype), generator).log() < log_ratio


class Moves:
    """Counts accepted proposals, chain by chain: one addition a step, one number at the end."""

    def __init__(self, x: Tensor) -> None:
        self.count = torch.zeros(len(x), device=x.device)
        self.steps = 0

    def add(self, accept: Tensor) -> None:
        """One step's `(B,)`."""
        self.count += accept
        self.steps += 1

    def told(self) -> dict[str, Tensor]:
        """The acceptance rate, as a diagnostic."""
        return {"acceptance": self.count.mean() / self.steps}


def moved(accept: Tensor, proposal: Sequence[Tensor], state: Sequence[Tensor]) -> list[Tensor]:
    """Events `(B, *event)` and values `(B,)` of the proposal where a chain moves, of the old state where it stays.

    The first of each are events.
    """
    wide = accept.reshape(-1, *[1] * (state[0].dim() - 1))
    pairs = zip(proposal, state, strict=True)
    return [torch.where(accept if old.dim() == 1 else wide, new, old) for new, old in pairs]
