"""Multi-layer perceptron energy with a confining quadratic: E(x) = MLP((x − m)/s) + κ ‖(x − m)/s‖².

m and s are the data's mean and standard deviation (one number for all coordinates), κ = 1/18: far from the data
the energy is that of a Gaussian three deviations wide, so Z is finite whatever the network says.
"""

import math

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.models.common.classifier import WithClasses
from ebmbench.models.common.closed_form import ClosedForm
from ebmbench.models.common.jets import Jet
from ebmbench.models.common.trunk import TrunkNetwork, TrunkSettings

PAPER = "LeCun et al., A Tutorial on Energy-Based Learning, 2006 (any network is an energy; initialisation is ours)"
YEAR = 2006
LINK = "http://yann.lecun.com/exdb/publis/pdf/lecun-06.pdf"
EXAMPLE = {"width": 8}


class Settings(TrunkSettings):
    """`params.yaml: models.mlp`."""

    confinement: float = Field(1 / 18, ge=0, description="κ, the weight of the quadratic")


class Model(WithClasses, TrunkNetwork):
    """The energy `(B, *event) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts, outputs: int = 1) -> None:
        super().__init__(settings, facts, math.prod(facts.shape), outputs)
        self.confinement = settings.confinement

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.joint(x).squeeze(-1)

    def joint(self, x: Tensor) -> Tensor:
        """The outputs `(B, K)`, all with the same quadratic."""
        z = (x.flatten(1) - self.centre) / self.scale
        outputs: Tensor = self.trunk(z) + self.confinement * z.square().sum(-1, keepdim=True)
        return outputs

    def fixed(self) -> ClosedForm:
        """The same energy with today's weights, for a chain."""
        return self.trunk.closed_form(self.confinement, self.centre, self.scale)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and s(x), by the chain rule written out; with `create_graph` in the graph of a loss."""
        if not create_graph:
            return self.fixed().energy_and_score(x)
        z = self._input(x)
        with torch.enable_grad():
            return self._energy_and_score(x, z, self.trunk.jet(z, z.new_zeros(0, *z.shape)))

    def energy_score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """E(x), s(x) and vᵀ∇s(x)v for directions `(M, B, *event)`, in the graph of a loss."""
        z, v = self._input(x), directions.flatten(2) / self.scale
        with torch.enable_grad():
            jet = self.trunk.jet(z, v)
            curvature = -jet.curvature - 2 * self.confinement * v.square().sum(2)
            return *self._energy_and_score(x, z, jet), curvature

    def _input(self, x: Tensor) -> Tensor:
        """(x − m)/s as rows."""
        return (x.detach().flatten(1) - self.centre) / self.scale

    def _energy_and_score(self, x: Tensor, z: Tensor, jet: Jet) -> tuple[Tensor, Tensor]:
        s = -(jet.slope + 2 * self.confinement * z) / self.scale
        return jet.value + self.confinement * z.square().sum(1), s.reshape(x.shape)
