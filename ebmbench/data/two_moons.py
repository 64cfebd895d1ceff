"""Two interleaved half circles as a mixture of 80 Gaussians of deviation 0.1, so that density and score are exact.

Arcs as in scikit-learn's `make_moons`: (cos t, sin t) and (1 − cos t, ½ − sin t) for t in [0, π], 40 centres each.
"""

import math

import torch

from ebmbench.data.common.densities import Mixture

PAPER = "Pedregosa et al., Scikit-learn, JMLR 12 (make_moons), 2011"
YEAR = 2011
LINK = "https://jmlr.org/papers/v12/pedregosa11a.html"
LICENCE = "CC0-1.0"


def density() -> Mixture:
    """The mixture."""
    t = torch.linspace(0, math.pi, 40, dtype=torch.float64)
    upper = torch.stack([t.cos(), t.sin()], dim=1)
    lower = torch.stack([1 - t.cos(), 0.5 - t.sin()], dim=1)
    return Mixture(torch.cat([upper, lower]), torch.ones(80), deviation=0.1)
