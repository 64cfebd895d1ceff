"""Energies, their scores, and what they cost.

An energy is any callable `(B, *event) -> (B,)` with p(x) ∝ exp(−E(x)); its score is s(x) = −∇ₓE(x).

Cost is counted in *network passes per event*: a forward pass is 1, a backward pass through it is 1. So an
energy evaluation costs 1, an input gradient 2 (there and back), and the parameter gradient of a loss as many
passes more as its graph holds: 1 for an energy, 2 for a score that was itself differentiated. Counts are
integers and the same on every machine; a budget in passes is one that a faster computer cannot stretch.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

Energy = Callable[[Tensor], Tensor]


def energy_and_score(energy: Energy, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
    """E(x) and s(x) = −∇ₓE(x) in one evaluation.

    An energy that has its own way (`.energy_and_score`) is asked for it.
    """
    own: Any = getattr(energy, "energy_and_score", None)
    if own is not None:
        return own(x, create_graph)
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        value = energy(x)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=create_graph)
    return (value if create_graph else value.detach()), -gradient


def score(energy: Energy, x: Tensor, create_graph: bool = False) -> Tensor:
    """s(x), shape `(B, *event)`."""
    return energy_and_score(energy, x, create_graph)[1]


@dataclass
class Counts:
    """Events sent through the network so far, by purpose, and the passes they add up to."""

    energy_evaluations: int = 0
    input_gradients: int = 0
    parameter_gradients: int = 0
    passes: int = 0

    def as_dict(self) -> dict[str, int]:
        """The four counts by name."""
        return asdict(self)


class Meter:
    """A network as an energy that counts what is asked of it."""

    def __init__(self, network: nn.Module, counts: Counts | None = None) -> None:
        self.network = network
        self.counts = counts or Counts()
        self._graph_events = 0
        self._graph_passes = 0

    def __call__(self, x: Tensor) -> Tensor:
        """E(x), counted."""
        self.counts.energy_evaluations += len(x)
        self._count(len(x), kept=torch.is_grad_enabled())
        return self.network(x)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and s(x), counted; with `create_graph` both passes stand in the graph of the loss."""
        self.counts.input_gradients += len(x)
        self._count(len(x), kept=create_graph, passes=2)
        return energy_and_score(self.network, x, create_graph)

    def backward(self, loss: Tensor) -> None:
        """Differentiate a loss with respect to the parameters, counted by the graph that it was built from."""
        torch.autograd.backward(loss)
        self.counts.parameter_gradients += self._graph_events
        self.counts.passes += self._graph_passes
        self._graph_events = self._graph_passes = 0

    def _count(self, events: int, kept: bool, passes: int = 1) -> None:
        self.counts.passes += passes * events
        if kept:
            self._graph_events += events
            self._graph_passes += passes * events
