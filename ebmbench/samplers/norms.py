"""The mean norm of the score along a chain, and at its end: a diagnostic that costs next to nothing.

Scores of some steps are kept and their norms taken together: small chains spend their time on calls, not on
arithmetic. Nothing is read before the end, so a chain on another device never waits.
"""

import torch
from torch import Tensor

KEPT = 2**16  # numbers: they stay in the cache


class Norms:
    """Of chains like `x` `(B, *event)` that take `steps` steps."""

    def __init__(self, x: Tensor, steps: int) -> None:
        size = x[:1].numel()
        rows = max(1, min(steps, KEPT // max(1, x.numel())))
        self.kept = x.new_empty(rows, len(x), size)
        self.total, self.last = x.new_zeros(()), x.new_zeros(())
        self.waiting = self.steps = 0

    def add(self, s: Tensor) -> None:
        """One step's scores `(B, *event)`."""
        self.kept[self.waiting].copy_(s.flatten(1))
        self.waiting += 1
        self.steps += 1
        if self.waiting == len(self.kept):
            self._sum()

    def told(self) -> dict[str, Tensor]:
        """The diagnostics."""
        self._sum()
        return {"gradient_norm": self.total / max(1, self.steps), "last_gradient_norm": self.last}

    def _sum(self) -> None:
        if self.waiting:
            means = torch.linalg.vector_norm(self.kept[: self.waiting], dim=2).mean(1)
            self.total, self.last = self.total + means.sum(), means[-1]
            self.waiting = 0
