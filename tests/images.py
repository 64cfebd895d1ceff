"""Facts and made-up images for tests of what needs image data."""

import torch
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream


def image_facts(shape: tuple[int, int, int] = (1, 8, 8), levels: int = 17) -> Facts:
    """Facts of made-up images of a shape; the covariance is left out, as of large images."""
    count = shape[0] * shape[1] * shape[2]
    return Facts("made_up", list(shape), 100, 50, [0.0] * count, [], 0.5, "none", "none", levels, list("ab"))


def images(count: int, shape: tuple[int, int, int] = (1, 8, 8), seed: int = 0) -> Tensor:
    """Smooth random images in [−1, 1]: bright blobs at random places."""
    generator = stream(seed, "images")
    place = torch.rand(count, 2, 1, 1, generator=generator) * 2 - 1
    rows, columns = torch.linspace(-1, 1, shape[1])[:, None], torch.linspace(-1, 1, shape[2])
    squares = (rows - place[:, 0]).square() + (columns - place[:, 1]).square()
    return (2 * torch.exp(-4 * squares) - 1)[:, None].expand(-1, shape[0], -1, -1).contiguous()
