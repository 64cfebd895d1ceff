"""The mean norm of the score along a chain, and at its end: a diagnostic that costs next to nothing.

Nothing is read before the end, so a chain on another device never waits; means are taken of many steps together, for
small chains spend their time on calls and not on arithmetic.
"""

import torch
from torch import Tensor

KEPT = 2**16  # numbers


class Norms:
    """Of chains like `x` `(B, *event)` that take `steps` steps."""

    def __init__(self, x: Tensor, steps: int) -> None:
        rows = max(1, min(steps, KEPT // max(1, len(x))))
        self.kept = x.new_empty(rows, len(x))
        self.rows = list(self.kept)
        self.total, self.last = x.new_zeros(()), x.new_zeros(())
        self.waiting = self.steps = 0

    def add(self, s: Tensor) -> None:
        """One step's scores `(B, *event)`."""
        torch.linalg.vector_norm(s if s.dim() == 2 else s.flatten(1), dim=1, out=self.rows[self.waiting])
        self.waiting += 1
        self.steps += 1
        if self.waiting == len(self.rows):
            self._sum()

    def told(self) -> dict[str, Tensor]:
        """The diagnostics."""
        self._sum()
        return {"gradient_norm": self.total / max(1, self.steps), "last_gradient_norm": self.last}

    def _sum(self) -> None:
        if self.waiting:
            means = self.kept[: self.waiting].mean(1)
            self.total, self.last = self.total + means.sum(), means[-1]
            self.waiting = 0
