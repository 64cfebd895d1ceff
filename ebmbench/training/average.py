"""Exponential moving average of weights: θ̄ ← θ̄ + (1 − β)(θ − θ̄), with β growing to its value over the first steps."""

import torch
from torch import Tensor


class Average:
    """Averages of a list of tensors, in the same order."""

    def __init__(self, parameters: list[Tensor], decay: float) -> None:
        self.parameters = parameters
        self.decay = decay
        self.values = [parameter.detach().clone() for parameter in parameters]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the current weights after step number `step` (from 1); early on, forget the initialisation faster."""
        decay = min(self.decay, step / (10 + step))
        torch._foreach_lerp_(self.values, self.parameters, 1 - decay)

    @torch.no_grad()
    def apply(self) -> None:
        """Put the averages in the place of the weights: the end of training."""
        for value, parameter in zip(self.values, self.parameters, strict=True):
            parameter.copy_(value)
