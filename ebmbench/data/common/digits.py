"""The digits of scikit-learn and their split, for `digits` and `binary_digits`."""

import torch

from ebmbench.core.streams import stream
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import DATA_SEED, Images, draw_stratified

TEST = 500


def read_digits(files: Files) -> Images:
    """Our split of the 1797 images, 8×8 in 17 grey values."""
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
