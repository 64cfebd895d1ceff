"""Bars and stripes 4×4: all rows of an image, or all columns, are on or off as a whole; exact.

A direction and four coins give 32 patterns, all equally likely. All-on and all-off come up both ways, so there are 30
different ones, two of them twice as likely. That is the convention of the literature: log-likelihoods there are *sums*
over the 32 patterns, at most 28·log(1/32) + 4·log(2/32) = −108.1. Asked for 32 events, a split is these 32.
"""

import torch

from ebmbench.core.binary import states
from ebmbench.data.common.densities import Table

PAPER = "MacKay, Information Theory, Inference and Learning Algorithms, Cambridge University Press, 2003 (chapter 43)"
YEAR = 2003
LINK = "https://www.inference.org.uk/mackay/itila/book.html"
LICENCE = "CC0-1.0"
BINARY = True
SIDE = 4


def density() -> Table:
    """The table of all 2¹⁶ states, most of which never occur."""
    bars = states(SIDE)[:, None, :].expand(-1, SIDE, -1)
    return Table.of_population(torch.cat([bars, bars.mT]).unsqueeze(1))
