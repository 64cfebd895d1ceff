"""Ratio matching: score matching for binary data, where ratios of probabilities take the place of gradients.

With x^(i) the event x with unit i flipped and g(u) = 1/(1 + u),

    L = mean Σ_i g(p(x)/p(x^(i)))² = mean Σ_i σ(E(x) − E(x^(i)))²,

which is, up to a constant, the squared distance between the model's and the data's g of all such ratios. No normaliser
appears, and no chain is run. Unlike `pseudo_likelihood` a unit that is predicted badly counts at most 1. Exact sums
take 1 + n energies of an event; `units` draws K of the n units, and scales by n/K. Hyvärinen (2007). Differs from the
paper: any energy, and such a subset (Dauphin & Bengio 2013 draw it with other weights).
"""

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core import method
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.flips import draw_flips, energy_changes

PAPER = "Hyvärinen, Some Extensions of Score Matching, Computational Statistics & Data Analysis 51(5), 2007"
YEAR = 2007
LINK = "https://doi.org/10.1016/j.csda.2006.09.003"
EXAMPLES = [{"units": 2}]


def ratio_matching(energy: Energy, x: Tensor, units: Tensor) -> Tensor:
    """The loss for events `(B, *event)` of 0 and 1, and the units `(B, K)` of each that are flipped."""
    scale = x[0].numel() / units.shape[1]
    return scale * torch.sigmoid(energy_changes(energy, x, units)).square().sum(1).mean()


class Settings(method.Settings):
    """`params.yaml: methods.ratio_matching`."""

    model: str = Field("rbm", description="the energy, a file in ebmbench/models")
    learning_rate: float = Field(1e-2, gt=0)
    units: int | None = Field(None, ge=1, description="K, units of each event that are flipped at a step; null: all")


class Method(method.Method):
    """Has no state of its own."""

    settings: Settings
    no_real = "it flips units that are 0 or 1, and the data are real-valued"

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch, with the units that are drawn for it."""
        return ratio_matching(energy, x, draw_flips(x, self.settings.units, draw))
