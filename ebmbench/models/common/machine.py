"""A Boltzmann machine as a network: its weights learn; a copy of them in plain tensors does sweeps and sums."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Generator, Tensor, nn


class MachineModel(nn.Module):
    """The (free) energy `(B, *event) -> (B,)` of the machine that `plain` returns."""

    @abstractmethod
    def plain(self) -> Any:
        """The machine as a named tuple of tensors, in the graph of the weights; it keeps `core.binary.Machine`."""

    def forward(self, x: Tensor) -> Tensor:
        """F(v), or E(v) without hidden units."""
        energy: Tensor = self.plain()(x)
        return energy

    @torch.no_grad()
    def fixed(self) -> Any:
        """Today's weights, for a chain."""
        machine = self.plain()
        return type(machine)(*(part.detach().clone() for part in machine))

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """One sweep."""
        moved: Tensor = self.fixed().gibbs(x, generator, beta)
        return moved

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """F_β(v), `(B,)`."""
        energy: Tensor = self.fixed().free_energy(x, beta)
        return energy

    def log_partition(self) -> float | None:
        """log Z, if there are few units to enumerate."""
        found: float | None = self.fixed().log_partition()
        return found
