"""Binary digits: `digits` in black and white, 8×8; a pixel is on if it is at least half of the brightest, 8 of 16.

The split is that of `digits`. The threshold is fixed: the same image is the same event each time.
"""

from ebmbench.data.common.digits import read_digits
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
    return read_digits(files).binarised(8)
