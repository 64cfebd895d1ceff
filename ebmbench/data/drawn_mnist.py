"""Drawn MNIST: `mnist` in black and white, 28×28; each pixel is drawn once, on with its grey value as probability.

The rule is that of Salakhutdinov & Murray (2008); their draws are not published, so these are others by the same rule.
Likelihoods are not comparable with those of `binary_mnist`: there is more to predict.
"""

from dataclasses import replace

from ebmbench.data.common import idx
from ebmbench.data.common.drawn import draw_pixels
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "Salakhutdinov & Murray, On the quantitative analysis of deep belief networks, ICML 2008"
YEAR = 2008
LINK = "https://doi.org/10.1145/1390156.1390266"
LICENCE = "CC-BY-SA-3.0"
BINARY = True


def images(files: Files) -> Images:
    """The official split, without labels."""
    return draw_pixels(idx.read(replace(files, dataset="mnist"), "MNIST", idx.MNIST), "drawn_mnist")
