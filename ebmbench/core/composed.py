"""Energies made of energies: sums (products of densities), and a multiple (another temperature).

Each asks its parts for their scores, so that closed forms stay closed forms, and is `fixed` part by part.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ebmbench.core.energy import Energy, energy_and_score, fixed, score


class Sum:
    """E₁ + … + E_n, the energy of the product of their densities: low only where all of them are."""

    def __init__(self, parts: Sequence[Energy]) -> None:
        self.parts = list(parts)

    def __call__(self, x: Tensor) -> Tensor:
        """ΣE(x)."""
        return torch.stack([part(x) for part in self.parts]).sum(0)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """ΣE(x) and Σs(x)."""
        values, scores = zip(*(energy_and_score(part, x, create_graph) for part in self.parts), strict=True)
        return torch.stack(values).sum(0), torch.stack(scores).sum(0)

    def fixed(self) -> "Sum":
        """Its parts, each for a chain."""
        return Sum([fixed(part) for part in self.parts])


class Quadratic:
    """κ‖x − m‖², which confines whatever it is added to."""

    def __init__(self, kappa: float, centre: Tensor | float = 0.0) -> None:
        self.kappa, self.centre = kappa, centre

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.kappa * (x - self.centre).flatten(1).square().sum(1)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and −2κ(x − m); there are no weights whose graph could be asked for."""
        return self(x), -2 * self.kappa * (x - self.centre)


class Tempered:
    """βE: the same landscape at temperature 1/β."""

    def __init__(self, energy: Energy, beta: float) -> None:
        self.energy, self.beta = energy, beta

    def __call__(self, x: Tensor) -> Tensor:
        """βE(x)."""
        return self.beta * self.energy(x)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """βE(x) and β·s(x)."""
        value, s = energy_and_score(self.energy, x, create_graph)
        return self.beta * value, self.beta * s

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """β·s(x)."""
        return self.beta * score(self.energy, x, create_graph)

    def fixed(self) -> "Tempered":
        """For a chain."""
        return Tempered(fixed(self.energy), self.beta)
