"""Grey images in black and white by chance: each pixel is drawn once, on with its grey value as probability."""

import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.data.common.images import DATA_SEED, Images


def draw_pixels(images: Images, name: str) -> Images:
    """The same images for every seed of a benchmark. Labels are left out."""

    def draw(split: str, grey: Tensor) -> Tensor:
        generator = stream(DATA_SEED, "data", name, split, "pixels")
        return (torch.rand(grey.shape, generator=generator) * (images.levels - 1) < grey).to(torch.uint8)

    return Images(draw("train", images.train), draw("test", images.test), levels=2)
