"""Drawn digits: `digits` in black and white, 8×8; each pixel is drawn once, on with its grey value as probability.

The split is that of `digits`. Likelihoods are not comparable with those of `binary_digits`: there is more to predict.
"""

from ebmbench.data.common.digits import read_digits
from ebmbench.data.common.drawn import draw_pixels
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "Alpaydin & Kaynak, Optical recognition of handwritten digits, UCI Machine Learning Repository, 1998"
YEAR = 1998
LINK = "https://doi.org/10.24432/C50P49"
LICENCE = "CC-BY-4.0"
FILES = False  # they come with scikit-learn
BINARY = True


def images(files: Files) -> Images:
    """Our split of the 1797 images, without labels."""
    return draw_pixels(read_digits(files), "drawn_digits")
