"""MNIST: handwritten digits, 28×28 in 256 grey values; 60 000 to train, 10 000 to test."""

from ebmbench.data.common import idx
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 86, 1998"
YEAR = 1998
LICENCE = "CC-BY-SA-3.0"
CLASSES = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]


def images(files: Files) -> Images:
    """The official split."""
    return idx.read(files, "MNIST", idx.MNIST)
