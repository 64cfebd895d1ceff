"""A page of pixels: images are enlarged by whole numbers and never resampled, words are set around them.

Matplotlib draws the words only; with its own placement of images a pixel of a digit would be a blur between two.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from ebmbench.report.figures.theme import DOTS, INK, LARGEST, WIDTH, compact

Pixels = NDArray[np.uint8]
CELL = 36  # pixels that an image takes, about: small ones are enlarged
GAP = 2  # between neighbours
LETTER, NUMBER = 10, 60  # that a bold letter takes, and a number
PAGE = round(WIDTH * DOTS)  # pixels across


class Canvas:
    """White, with (0, 0) at the upper left."""

    def __init__(self, width: int, height: int) -> None:
        self.pixels: Pixels = np.full((height, width, 3), 255, dtype=np.uint8)
        self.words: list[tuple[float, float, str, dict[str, Any]]] = []

    def paste(self, image: Pixels, x: int, y: int, scale: int) -> None:
        """An image `(C, H, W)`, of one channel or three, each pixel a square of `scale`."""
        colours = np.broadcast_to(image, (3, *image.shape[1:])) if len(image) == 1 else image[:3]
        large = colours.transpose(1, 2, 0).repeat(scale, 0).repeat(scale, 1)
        self.pixels[y : y + large.shape[0], x : x + large.shape[1]] = large

    def write(self, words: str, x: float, y: float, size: float = 9.5, bold: bool = False, at: str = "center") -> None:
        """A line of words standing on y, with its centre, its left or its right end `at` x."""
        style = {"size": size, "weight": "bold" if bold else "normal", "ha": at}
        self.words.append((x, y, words, style))

    def image(self) -> Image.Image:
        """The page with its words."""
        height, width = self.pixels.shape[:2]
        # A hundredth of a pixel more, or rounding may take away a column.
        figure = Figure(figsize=((width + 0.01) / DOTS, (height + 0.01) / DOTS), dpi=DOTS)
        figure.figimage(self.pixels, origin="upper")
        for x, y, words, style in self.words:
            figure.text(x / width, 1 - y / height, words, color=INK, va="baseline", **style)
        drawn = BytesIO()
        figure.savefig(drawn, dpi=DOTS, format="png")
        return compact(Image.open(drawn))


def enlargement(width: int) -> int:
    """By how much images of this width are enlarged."""
    return max(1, CELL // width)


def fit_largest(draw: Callable[[int], Image.Image], counts: Sequence[int]) -> tuple[Image.Image, int]:
    """The page with the largest of these counts whose file is small enough, and that count."""
    for count in counts:
        page = fit_size(draw(count))
        if page is not None:
            return page, count
    return draw(counts[-1]), counts[-1]


def fit_size(image: Image.Image, most: int = LARGEST) -> Image.Image | None:
    """The image with as many greys or colours as the size of its file allows; None if it is too large with few."""
    fewer = (64, 32) if image.mode == "L" else (256, 64)
    for version in (image, *(_reduced(image, shades) for shades in fewer)):
        written = BytesIO()
        version.save(written, "png", optimize=True)
        if len(written.getvalue()) <= most:
            return version
    return None


def _reduced(image: Image.Image, shades: int) -> Image.Image:
    if image.mode != "L":
        return image.quantize(shades, dither=Image.Dither.NONE)
    step = 255 / (shades - 1)
    return image.point([round(round(grey / step) * step) for grey in range(256)])
