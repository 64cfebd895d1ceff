"""CIFAR-10: small photographs of ten kinds of things, 3×32×32 in 256 values; 50 000 to train, 10 000 to test."""

from ebmbench.data.images import cifar
from ebmbench.data.images.files import Files
from ebmbench.data.images.images import Images

PAPER = (
    "Krizhevsky, Learning multiple layers of features from tiny images, technical report, University of Toronto, 2009"
)
YEAR = 2009
LICENCE = "none stated by its authors"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def images(files: Files) -> Images:
    """The official split."""
    return cifar.read(files)
