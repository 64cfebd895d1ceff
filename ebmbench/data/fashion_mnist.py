"""Fashion-MNIST: articles of clothing, 28×28 in 256 grey values; 60 000 to train, 10 000 to test."""

from pathlib import Path

from ebmbench.data.common import idx
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "Xiao, Rasul & Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking ML algorithms, 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1708.07747"
LICENCE = "MIT"
CLASSES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
CONTENT = {  # MD5 sums of the unpacked files; torchvision has those of the packed ones
    "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # package dataset-fashion-mnist


def images(files: Files) -> Images:
    """The official split."""
    return idx.read(files, "FashionMNIST", CONTENT, [DEBIAN])
