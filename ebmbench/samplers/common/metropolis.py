"""The Metropolis rule: go to the proposal with probability min(1, r), else stay.

With r = p(x′) q(x | x′) / (p(x) q(x′ | x)) the step leaves p in place, whatever the proposal q (Hastings 1970).
"""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from ebmbench.core.streams import uniform


def draw_acceptance(log_ratio: Tensor, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Which chains move, `(B,)`. A ratio that is not a number (∞ − ∞) is refused."""
    return uniform(log_ratio.to(dtype), generator).log() < log_ratio


class AcceptanceRate:
    """Counts accepted proposals of each chain: one addition a step, one number at the end."""

    def __init__(self, x: Tensor) -> None:
        self.count = torch.zeros(len(x), device=x.device)
        self.steps = 0

    def add(self, accept: Tensor) -> None:
        """One step's `(B,)`."""
        self.count += accept
        self.steps += 1

    def diagnostics(self) -> dict[str, Tensor]:
        """`acceptance`, the share of accepted proposals."""
        return {"acceptance": self.count.mean() / self.steps}


def select(accept: Tensor, proposal: Sequence[Tensor], state: Sequence[Tensor]) -> list[Tensor]:
    """The proposal where a chain moves and the old state where it stays: events `(B, *event)` first, then values."""
    wide = accept.reshape(-1, *[1] * (state[0].dim() - 1))
    pairs = zip(proposal, state, strict=True)
    return [torch.where(accept if old.dim() == 1 else wide, new, old) for new, old in pairs]
