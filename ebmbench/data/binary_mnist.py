"""Binary MNIST: `mnist` in black and white, 28×28; a pixel is on if it is at least half of the brightest, 128 of 255.

The files are those of `mnist`. The threshold is fixed, as in the work whose likelihoods the suite `anchors` lands on;
likelihoods of the other customary set, in which each pixel is drawn once with its grey value as probability
(Salakhutdinov & Murray 2008), are not comparable.
"""

from dataclasses import replace

from ebmbench.data.common import idx
from ebmbench.data.common.files import Files
from ebmbench.data.common.images import Images

PAPER = "LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 86, 1998"
YEAR = 1998
LINK = "https://doi.org/10.1109/5.726791"
LICENCE = "CC-BY-SA-3.0"
BINARY = True


def images(files: Files) -> Images:
    """The official split, without labels."""
    return idx.read(replace(files, dataset="mnist"), "MNIST", idx.MNIST).binarised(128)
