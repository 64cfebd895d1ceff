"""A 4×4 checkerboard on [−4, 4]²: eight filled squares of side 2, edges smoothed by an error function of width 0.05."""

import torch

from ebmbench.data.common.densities import Squares

PAPER = "Grathwohl et al., FFJORD, ICLR 2019 (customary toy; smoothed here so that the score exists)"
YEAR = 2019
LINK = "https://arxiv.org/abs/1810.01367"
LICENCE = "CC0-1.0"


def density() -> Squares:
    """The board."""
    filled = [(column, row) for column in range(4) for row in range(4) if (column + row) % 2 == 0]
    centres = torch.tensor(filled, dtype=torch.float64) * 2 - 3
    return Squares(centres, side=2.0, width=0.05)
