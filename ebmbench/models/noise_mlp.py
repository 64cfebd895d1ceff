"""Noise-conditional perceptron energy E(x, σ): one network for a whole ladder of smoothed densities.

With m and s the data's mean and deviation, u = (x − m)/√(s² + σ²) and t = ½ log(σ/s):

    E(x, σ) = √(s² + σ²)/σ · MLP(u, t) + κ ‖u‖².

The data with noise σ have deviation √(s² + σ²), so u is of order one at every level; and the factor makes the slope
of the network the noise that it predicts, σ∇E ≈ ∇MLP, which is of order one too.
"""

import math
from typing import Any, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import energy_and_score
from ebmbench.models.common import trunk
from ebmbench.models.common.jets import Jet
from ebmbench.models.common.noise_levels import level_inputs
from ebmbench.models.common.trunk import TrunkNetwork, TrunkSettings

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019; as an energy"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
EXAMPLE = {"width": 8}


class Settings(TrunkSettings):
    """`params.yaml: models.noise_mlp`."""

    confinement: float = Field(1 / 18, ge=0, description="κ, the weight of the quadratic")


class Model(TrunkNetwork):
    """The energies of all levels; `given(sigma)` is one of them."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts, math.prod(facts.shape) + 1)
        self.confinement = settings.confinement

    def given(self, sigma: Tensor | float) -> "EnergyLevel":
        """The energy at a noise level, one for all events or one for each, in the data's units."""
        return EnergyLevel(self, sigma)


class EnergyLevel:
    """E(·, σ) as an energy `(B, *event) -> (B,)`."""

    def __init__(self, model: Model, sigma: Tensor | float) -> None:
        self.model, self.sigma = model, sigma

    def __call__(self, x: Tensor) -> Tensor:
        """E(x, σ)."""
        u, z, sigma, width = self._inputs(x)
        factor = (width / sigma).squeeze(-1)
        value: Tensor = factor * self.model.trunk(z).squeeze(-1) + self.model.confinement * u.square().sum(-1)
        return value

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x, σ) and its score; with `create_graph` in the graph of a loss."""
        if not create_graph:
            return energy_and_score(self.fixed(), x)
        rows = self._inputs(x.detach())
        with torch.enable_grad():
            jet = self.model.trunk.jet(rows.z, rows.z.new_zeros(0, *rows.z.shape))
            return self._energy_and_score(x, rows, jet)

    def energy_score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """E(x, σ), s(x, σ) and vᵀ∇s(x, σ)v for directions `(M, B, *event)`, in the graph of a loss."""
        rows = self._inputs(x.detach())
        v = directions.flatten(2) / rows.width
        with torch.enable_grad():
            jet = self.model.trunk.jet(rows.z, pad(v, (0, 1)))  # the level stays
            bend = (rows.width / rows.sigma).squeeze(-1) * jet.curvature
            curvature = -bend - 2 * self.model.confinement * v.square().sum(2)
            return *self._energy_and_score(x, rows, jet), curvature

    def fixed(self) -> Any:
        """The same energy with today's weights, for a chain; with a level for each event, by autograd."""
        model, scale = self.model, self.model.scale
        sigma = torch.as_tensor(self.sigma, dtype=scale.dtype, device=scale.device)
        if sigma.dim() and sigma.numel() > 1 and sigma.stride(0) != 0:  # more than one number, repeated
            return self.__call__
        sigma = sigma.flatten()[0] if sigma.dim() else sigma
        width = (model.scale.square() + sigma.square()).sqrt()
        level = trunk.Level(0.5 * (sigma / model.scale).log().reshape(1), width / sigma)
        return model.trunk.closed_form(model.confinement, model.centre, width, level)

    def _inputs(self, x: Tensor) -> "Rows":
        u, t, sigma, width = level_inputs(self.model, x.flatten(1), self.sigma)
        return Rows(u, torch.cat([u, t[:, None]], dim=1), sigma, width)

    def _energy_and_score(self, x: Tensor, rows: "Rows", jet: Jet) -> tuple[Tensor, Tensor]:
        u, _, sigma, width = rows
        energy = (width / sigma).squeeze(-1) * jet.value + self.model.confinement * u.square().sum(-1)
        gradient = jet.slope[:, :-1] / sigma + 2 * self.model.confinement * u / width
        return energy, -gradient.reshape(x.shape)


class Rows(NamedTuple):
    """u as rows, the trunk's input (u, t), and σ and √(s² + σ²) as columns."""

    u: Tensor
    z: Tensor
    sigma: Tensor
    width: Tensor
