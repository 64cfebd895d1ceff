"""Energies, their scores, and what they cost.

An energy is any callable `(B, *event) -> (B,)` with p(x) ∝ exp(−E(x)); its score is s(x) = −∇ₓE(x).

Cost is counted in *network passes per event*: a forward pass is 1, a backward pass through it is 1. So an
energy evaluation costs 1, an input gradient 2 (there and back), and the parameter gradient of a loss as many
passes more as its graph holds: 1 for an energy, 2 for a score that was itself differentiated. Counts are
integers and the same on every machine; a budget in passes is one that a faster computer cannot stretch. A network
that gives the score as a vector (`.score`) needs one pass for it; a second derivative along a direction goes back
through both passes of the score and costs two more.

Along a chain weights do not change: `fixed` gives the energy with all that depends on them alone computed once, and the
score by a closed form where the model has one. Samplers run with gradients turned off: a hook of your own that uses
autograd turns them on, as `by_autograd` does. They also move x in place, so keep a copy of what you want to keep.

A *noise-conditional* network has `given(sigma)`, the energy (or score) at one noise level per event.

Energies made of energies: sums (products of densities), and a multiple (another temperature).

Each asks its parts for their scores, so that closed forms stay closed forms, and is `fixed` part by part.
"""

from collections.abc import Callable, Sequence
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
    return own(x, create_graph) if own is not None else by_autograd(energy, x, create_graph)


def by_autograd(energy: Energy, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
    """E(x) and s(x) of any differentiable energy."""
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        value = energy(x)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=create_graph)
    return (value if create_graph else value.detach()), -gradient


def fixed(energy: Energy) -> Energy:
    """The same energy for a chain; one that has its own way (`.fixed`) is asked for it. New weights need a new one."""
    own: Any = getattr(energy, "fixed", None)
    return own() if callable(own) else energy


def score(energy: Energy, x: Tensor, create_graph: bool = False) -> Tensor:
    """s(x), shape `(B, *event)`; who gives it without the energy (`.score`) is asked for it."""
    own: Any = getattr(energy, "score", None)
    return own(x, create_graph) if own is not None else energy_and_score(energy, x, create_graph)[1]


def score_and_curvature(energy: Energy, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """s(x) and vᵀ∇s(x)v for directions `(M, B, *event)`, the latter `(M, B)`; both stand in the graph of a loss."""
    return energy_score_and_curvature(energy, x, directions)[1:]


def energy_score_and_curvature(energy: Energy, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """E(x) too; an energy that has its own way (`.energy_score_and_curvature`) is asked for it.

    Else one backward pass through the score for each v: a Hessian-vector product, never a Hessian.
    """
    own: Any = getattr(energy, "energy_score_and_curvature", None)
    if own is not None:
        return own(x, directions)
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        value = energy(x)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        s = -gradient
        along = [torch.autograd.grad((s * v).sum(), x, create_graph=True)[0] * v for v in directions]
    return value, s, torch.stack([product.flatten(1).sum(1) for product in along])


def conditional(energy: Energy) -> bool:
    """Whether the energy has noise levels."""
    return hasattr(getattr(energy, "network", energy), "given")


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


@dataclass
class _Graph:
    """Events and passes that stand in the graph of the loss to come."""

    events: int = 0
    passes: int = 0


class Meter:
    """A network as an energy that counts what is asked of it."""

    def __init__(
        self,
        network: Any,
        counts: Counts | None = None,
        graph: _Graph | None = None,
        seen: list[Tensor] | None = None,
    ) -> None:
        self.network = network
        self.counts = counts or Counts()
        self._graph = graph or _Graph()
        self.seen = seen  # the energies that were asked for, without their graphs, where somebody watches them

    def __call__(self, x: Tensor) -> Tensor:
        """E(x), counted."""
        self.counts.energy_evaluations += x.shape[0]
        self._count(x.shape[0], kept=torch.is_grad_enabled())
        value: Tensor = self.network(x)
        self._see(value)
        return value

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and s(x), counted; with `create_graph` both passes stand in the graph of the loss."""
        self.counts.input_gradients += x.shape[0]
        self._count(x.shape[0], kept=create_graph, passes=2)
        value, s = energy_and_score(self.network, x, create_graph)
        self._see(value)
        return value, s

    def fixed(self) -> "Meter":
        """The network for a chain; its cost is counted here."""
        return Meter(fixed(self.network), self.counts, self._graph, self.seen)

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """s(x), counted: one pass if the network is itself a score, else two; who watches sees the energies too."""
        both, alone = hasattr(self.network, "energy_and_score"), hasattr(self.network, "score")
        if not alone or (both and self.seen is not None):
            return self.energy_and_score(x, create_graph)[1]
        self.counts.input_gradients += x.shape[0]
        self._count(x.shape[0], kept=create_graph, passes=2 if both else 1)
        return score(self.network, x, create_graph)

    def energy_score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """E(x), s(x) and its derivative along each direction, counted: two passes, and two more for each direction."""
        self.counts.input_gradients += x.shape[0] * (1 + len(directions))
        self._count(x.shape[0], kept=True, passes=2 + 2 * len(directions))
        value, s, curvature = energy_score_and_curvature(self.network, x, directions)
        self._see(value)
        return value, s, curvature

    def given(self, sigma: Tensor) -> "Meter":
        """A noise-conditional network at one level per event; its cost is counted here."""
        return Meter(self.network.given(sigma), self.counts, self._graph, self.seen)

    def beside(self, network: nn.Module) -> "Meter":
        """Another network (a frozen copy, say) whose cost is counted here too."""
        return Meter(network, self.counts, seen=self.seen)

    def backward(self, loss: Tensor) -> None:
        """Differentiate a loss with respect to the parameters, counted by the graph that it was built from."""
        torch.autograd.backward(loss)
        self.counts.parameter_gradients += self._graph.events
        self.counts.passes += self._graph.passes
        self._graph.events = self._graph.passes = 0

    def _see(self, value: Tensor) -> None:
        if self.seen is not None:
            self.seen.append(value.detach())

    def _count(self, events: int, kept: bool, passes: int = 1) -> None:
        self.counts.passes += passes * events
        if kept:
            self._graph.events += events
            self._graph.passes += passes * events


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
