"""Pseudo-likelihood: predict each binary unit from all others, which needs neither chains nor a normaliser.

With x^(i) the event x with unit i flipped,

    L = mean Σ_i −log p(x_i | rest) = mean Σ_i softplus(E(x) − E(x^(i))).

If the model can express the data, its minimum is at the data's distribution, as that of the likelihood (Besag 1975).
Exact sums take 1 + n energies of an event; `units` draws K of the n units at each step, and scales their sum by n/K.
Differs from the paper: any energy, and such a subset.
"""

from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.flips import draw_flips, energy_changes

PAPER = "Besag, Statistical Analysis of Non-Lattice Data, The Statistician 24(3), 1975"
YEAR = 1975
LINK = "https://doi.org/10.2307/2987782"
EXAMPLES = [{"units": 2}]


def pseudo_likelihood(energy: Energy, x: Tensor, units: Tensor) -> Tensor:
    """The loss for events `(B, *event)` of 0 and 1, and the units `(B, K)` of each that are predicted."""
    scale = x[0].numel() / units.shape[1]
    return scale * softplus(energy_changes(energy, x, units)).sum(1).mean()


class Settings(method.Settings):
    """`params.yaml: methods.pseudo_likelihood`."""

    model: str = Field("rbm", description="the energy, a file in ebmbench/models")
    learning_rate: float = Field(1e-2, gt=0)
    units: int | None = Field(None, ge=1, description="K, units of each event that are predicted at a step; null: all")


class Method(method.Method):
    """Has no state of its own."""

    settings: Settings
    no_real = "it predicts units that are 0 or 1, and the data are real-valued"

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch, with the units that are drawn for it."""
        return pseudo_likelihood(energy, x, draw_flips(x, self.settings.units, draw))
