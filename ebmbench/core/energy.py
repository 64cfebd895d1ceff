"""Energies and their scores.

An energy is any callable `(B, *event) -> (B,)` with p(x) ∝ exp(−E(x)); its score is s(x) = −∇ₓE(x). A model may offer
faster ways than autograd, and the functions below ask for them first: `energy_and_score`, `score`,
`energy_score_and_curvature`, and `fixed` for a chain.

Along a chain weights do not change: `fixed` gives the energy with everything that depends on weights alone computed
once, and the score in closed form where the model has one. Samplers run with gradients turned off, so a hook of your
own that uses autograd must turn them on, as `by_autograd` does. Samplers also move x in place: keep a copy of what you
need.

A *noise-conditional* network has `given(sigma)`, its energy (or score) at one noise level per event.

`Sum` (a product of densities), `Quadratic` and `Tempered` (another temperature) make energies of energies. They ask
their parts for scores, so closed forms stay closed forms.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Energy = Callable[[Tensor], Tensor]


def energy_and_score(energy: Energy, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
    """E(x) and s(x) = −∇ₓE(x) in one evaluation: by the energy's own `energy_and_score` if it has one."""
    own: Any = getattr(energy, "energy_and_score", None)
    return own(x, create_graph) if own is not None else by_autograd(energy, x, create_graph)


def by_autograd(energy: Energy, x: Tensor, create_graph: bool = False, through: bool = False) -> tuple[Tensor, Tensor]:
    """E(x) and s(x) of any differentiable energy; with `through`, x stays in the graph that it stands in."""
    with torch.enable_grad():
        x = x if through and x.requires_grad else x.detach().requires_grad_(True)
        value = energy(x)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=create_graph)
    return (value if create_graph else value.detach()), -gradient


def fixed(energy: Energy) -> Energy:
    """The same energy for a chain, by its own `fixed` if it has one. New weights need a new one."""
    own: Any = getattr(energy, "fixed", None)
    return own() if callable(own) else energy


def score(energy: Energy, x: Tensor, create_graph: bool = False) -> Tensor:
    """s(x), shape `(B, *event)`: by the energy's own `score` if it has one, which skips the energy."""
    own: Any = getattr(energy, "score", None)
    return own(x, create_graph) if own is not None else energy_and_score(energy, x, create_graph)[1]


def score_through(energy: Energy, x: Tensor) -> Tensor:
    """s(x) in the graph of the weights and of x, which depends on them: for chains that are differentiated."""
    own: Any = getattr(energy, "score_through", None)
    return own(x) if own is not None else by_autograd(energy, x, create_graph=True, through=True)[1]


def score_and_curvature(energy: Energy, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """s(x) and vᵀ∇s(x)v for directions `(M, B, *event)`, the latter `(M, B)`; both stand in the graph of a loss.

    Of a score without an energy, ∇s need not be symmetric: one way back for each v, whose graph is kept only if
    gradients are on.
    """
    own: Any = getattr(energy, "score_and_curvature", None)
    if own is not None:
        return own(x, directions)
    if not is_score(energy):
        return energy_score_and_curvature(energy, x, directions)[1:]
    keep = torch.is_grad_enabled()
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        s = score(energy, x, create_graph=True)
        grads = [torch.autograd.grad((s * v).sum(), x, retain_graph=True, create_graph=keep)[0] for v in directions]
    return s, torch.stack([(grad * v).flatten(1).sum(1) for grad, v in zip(grads, directions, strict=True)])


def energy_score_and_curvature(energy: Energy, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """E(x), s(x) and vᵀ∇s(x)v: by the energy's own `energy_score_and_curvature` if it has one.

    Otherwise one backward pass through the score for each v: a Hessian-vector product, never a Hessian.
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


def is_score(energy: Energy) -> bool:
    """Whether it gives a score alone, as a vector that need not be the slope of any energy."""
    return hasattr(energy, "score") and not hasattr(energy, "energy_and_score")


def marginal(logits: Tensor) -> Tensor:
    """E(x) = −log Σ_y exp f_y(x) of a classifier's logits f `(B, K)`, which is −f(x) if there is one class."""
    return -logits.squeeze(1) if logits.shape[1] == 1 else -logits.logsumexp(1)


def complete(energy: Energy, x: Tensor, generator: Callable[[], torch.Generator]) -> Tensor:
    """Events as chains of the energy carry them: as they are, or with hidden units, if the model has `complete`."""
    own: Any = getattr(getattr(energy, "network", energy), "complete", None)
    return x if own is None else own(x, generator())


def visible_events(energy: Energy, rows: Tensor) -> Tensor:
    """The events of such rows: the inverse of `complete`."""
    own: Any = getattr(getattr(energy, "network", energy), "events", None)
    return rows if own is None else own(rows)


def conditional(energy: Energy) -> bool:
    """Whether the energy has noise levels."""
    return hasattr(getattr(energy, "network", energy), "given")


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
