"""Digits: handwritten digits of scikit-learn, 8×8 in 17 grey values; 1297 to train, 500 to test.

They come with scikit-learn, so nothing is downloaded. There is no official split: ours is fixed and stratified.
"""

from ebmbench.data.common.digits import read_digits
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "Alpaydin & Kaynak, Optical recognition of handwritten digits, UCI Machine Learning Repository, 1998"
YEAR = 1998
LICENCE = "CC-BY-4.0"
FILES = False  # they come with scikit-learn
CLASSES = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]


def images(files: Files) -> Images:
    """Our split of the 1797 images."""
    return read_digits(files)
