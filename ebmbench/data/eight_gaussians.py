"""Eight narrow Gaussians on a circle of radius 2, deviation 0.2."""

import math

import torch

from ebmbench.data.common.densities import Mixture

PAPER = "Grathwohl et al., FFJORD, ICLR 2019 (customary toy; radius and deviation are ours)"
YEAR = 2019
LINK = "https://arxiv.org/abs/1810.01367"
LICENCE = "CC0-1.0"


def density() -> Mixture:
    """The mixture."""
    angles = torch.arange(8, dtype=torch.float64) * math.pi / 4
    centres = 2 * torch.stack([angles.cos(), angles.sin()], dim=1)
    return Mixture(centres, torch.ones(8), deviation=0.2)
