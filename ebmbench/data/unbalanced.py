"""Two distant Gaussians of unequal weight: 0.2 N((−5, −5), I) + 0.8 N((5, 5), I).

A method that sees only scores of clean data cannot weigh them: between the modes there is nothing to learn from.
"""

import torch

from ebmbench.data.common.densities import Mixture

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
LICENCE = "CC0-1.0"


def density() -> Mixture:
    """The mixture."""
    centres = torch.tensor([[-5.0, -5.0], [5.0, 5.0]])
    return Mixture(centres, torch.tensor([0.2, 0.8]), deviation=1.0)
