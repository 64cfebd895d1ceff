"""Digits: handwritten digits of scikit-learn, 8×8 in 17 grey values; 1297 to train, 500 to test.

They come with scikit-learn, so nothing is downloaded. There is no official split: ours is fixed and stratified.
"""

import torch

from ebmbench.core.streams import stream
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import DATA_SEED, Images, draw_stratified

PAPER = "Alpaydin & Kaynak, Optical recognition of handwritten digits, UCI Machine Learning Repository, 1998"
YEAR = 1998
LINK = "https://doi.org/10.24432/C50P49"
LICENCE = "CC-BY-4.0"
FILES = False  # they come with scikit-learn
CLASSES = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
TEST = 500


def images(files: Files) -> Images:
    """Our split of the 1797 images."""
    from sklearn.datasets import load_digits  # here: it takes a second to import

    whole = load_digits()
    x = torch.as_tensor(whole.images).to(torch.uint8).unsqueeze(1)
    y = torch.as_tensor(whole.target).long()
    held_out = draw_stratified(y, TEST, stream(DATA_SEED, "data", "digits", "split"))
    rest = torch.ones(len(y), dtype=torch.bool)
    rest[held_out] = False
    train = rest.nonzero().flatten()
    train, test = train[files.keep("train", len(train))], held_out[files.keep("test", TEST)]
    return Images(x[train], x[test], y[train], y[test], levels=17)
