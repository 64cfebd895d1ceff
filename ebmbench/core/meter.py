"""The meter: a network as an energy that counts what training asks of it.

Cost is counted in *network passes per event*. A forward pass is 1 and a backward pass through it is 1. So an energy
evaluation costs 1, an input gradient 2 (there and back), and the parameter gradient of a loss as many passes more as
its graph holds: 1 for an energy, 2 for a score that was itself differentiated. A network that gives the score as a
vector needs one pass for it. A second derivative along a direction goes back through the passes of the score: two
more for an energy, one more for such a vector. A Gibbs sweep of a Boltzmann machine with hidden units goes there and
back, 2 passes; the model says how many it takes (`sweep_passes`), and how many its energy, if that takes rounds
(`energy_passes`). Counts are integers and the same on every machine, so a faster computer cannot stretch a budget.

A pass is no fixed amount of arithmetic: the way back to the weights multiplies twice as many matrices as the way
there. So the FLOPs of matrix products and convolutions (two for each multiplication with its addition) are counted
beside passes, by torch's formulas. To look at every operation takes longer than the operations of a small network, so
only steps 0, 1, 2, 4, 8, … are looked at. The others are charged what the last of these cost per pass, which is exact
where all steps do the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from ebmbench.core.energy import (
    by_autograd,
    energy_and_score,
    energy_score_and_curvature,
    fixed,
    is_score,
    marginal,
    score,
    score_and_curvature,
)
from ebmbench.core.torch_compat import FlopCounter


@dataclass
class Counts:
    """Events sent through the network so far, by purpose, the passes they add up to, and FLOPs of training steps."""

    energy_evaluations: int = 0
    input_gradients: int = 0
    parameter_gradients: int = 0
    passes: int = 0
    flops: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


@dataclass
class StepCost:
    """The FLOPs of the last training step that was looked at, and its passes."""

    flops: int = 0
    passes: int = 0

    @contextmanager
    def charge(self, counts: Counts, step: int) -> Iterator[None]:
        """Add the FLOPs of training step `step`, which runs inside, to the counts."""
        before, looked_at = counts.passes, step & (step - 1) == 0 or not self.passes
        if looked_at:
            with FlopCounter() as counter:
                yield
            self.flops, self.passes = counter.flops, counts.passes - before
        else:
            yield
        counts.flops += self.flops * (counts.passes - before) // max(self.passes, 1)


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
        self._has_energy, self._has_score = hasattr(network, "energy_and_score"), hasattr(network, "score")
        self.seen = seen  # if a list is given, the energies that were computed, without their graphs

    def __call__(self, x: Tensor) -> Tensor:
        """E(x), counted."""
        self.counts.energy_evaluations += x.shape[0]
        self.count(x.shape[0], kept=torch.is_grad_enabled())
        self.counts.passes += x.shape[0] * (getattr(self.network, "energy_passes", 1) - 1)  # without a graph
        value: Tensor = self.network(x)
        self._see(value)
        return value

    def logits(self, x: Tensor) -> Tensor:
        """The logits of a classifier `(B, K)`, counted like the energy that is made of them."""
        self.counts.energy_evaluations += x.shape[0]
        self.count(x.shape[0], kept=torch.is_grad_enabled())
        value: Tensor = self.network.logits(x)
        self._see(marginal(value))
        return value

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and s(x), counted; with `create_graph` both passes stand in the graph of the loss."""
        self.counts.input_gradients += x.shape[0]
        self.count(x.shape[0], kept=create_graph, passes=2)
        value, s = energy_and_score(self.network, x, create_graph)
        self._see(value)
        return value, s

    def fixed(self) -> "Meter":
        """The network for a chain; its cost is counted here."""
        return Meter(fixed(self.network), self.counts, self._graph, self.seen)

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """A Gibbs sweep of a Boltzmann machine, counted."""
        self.count(x.shape[0], kept=False, passes=self.network.sweep_passes)
        moved: Tensor = self.network.gibbs(x, generator, beta)
        return moved

    def free_energy(self, x: Tensor, beta: float | Tensor) -> Tensor:
        """The energy of a Boltzmann machine at another temperature, counted."""
        self.counts.energy_evaluations += x.shape[0]
        self.count(x.shape[0], kept=False)
        value: Tensor = self.network.free_energy(x, beta)
        return value

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """s(x), counted: one pass if the network is itself a score, else two, which also give `seen` its energies."""
        if not self._has_score or (self._has_energy and self.seen is not None):
            return self.energy_and_score(x, create_graph)[1]
        self.counts.input_gradients += x.shape[0]
        self.count(x.shape[0], kept=create_graph, passes=2 if self._has_energy else 1)
        return score(self.network, x, create_graph)

    def energy_score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """E(x), s(x) and its derivative along each direction, counted: two passes, and two more for each direction."""
        self.counts.input_gradients += x.shape[0] * (1 + len(directions))
        self.count(x.shape[0], kept=True, passes=2 + 2 * len(directions))
        value, s, curvature = energy_score_and_curvature(self.network, x, directions)
        self._see(value)
        return value, s, curvature

    def score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        """s(x) and its derivative along each direction, counted: of a score alone one pass, and one for each direction.

        Of an energy as above.
        """
        if not is_score(self.network):
            return self.energy_score_and_curvature(x, directions)[1:]
        self.counts.input_gradients += x.shape[0] * (1 + len(directions))
        self.count(x.shape[0], kept=True, passes=1 + len(directions))
        return score_and_curvature(self.network, x, directions)

    def score_through(self, x: Tensor) -> Tensor:
        """s(x) where x stands in the graph of the loss, too, counted: two passes."""
        self.counts.input_gradients += x.shape[0]
        self.count(x.shape[0], kept=True, passes=2)
        value, s = by_autograd(self.network, x, create_graph=True, through=True)
        self._see(value)
        return s

    def given(self, sigma: Tensor | float) -> "Meter":
        """A noise-conditional network at one level per event; its cost is counted here."""
        return Meter(self.network.given(sigma), self.counts, self._graph, self.seen)

    def beside(self, network: nn.Module) -> "Meter":
        """Another network (a frozen copy, say) whose cost is counted here too."""
        return Meter(network, self.counts, seen=self.seen)

    def backward(self, loss: Tensor, weights: Sequence[Tensor] | None = None) -> None:
        """Differentiate a loss with respect to the parameters (or to some), counted by the graph it was built from."""
        torch.autograd.backward(loss, inputs=weights)
        self.counts.parameter_gradients += self._graph.events
        self.counts.passes += self._graph.passes
        self._graph.events = self._graph.passes = 0

    def count(self, events: int, kept: bool, passes: int = 1) -> None:
        """Count passes of events through this network or an adversary; those that are kept are paid on the way back."""
        self.counts.passes += passes * events
        if kept:
            self._graph.events += events
            self._graph.passes += passes * events

    def _see(self, value: Tensor) -> None:
        if self.seen is not None:
            self.seen.append(value.detach())
