"""Figures as Markdown: the image with its caption, open or folded away."""

from collections.abc import Sequence
from dataclasses import dataclass

from ebmbench.report.text.words import fold


@dataclass(frozen=True)
class Image:
    """A figure of a report.

    `path` is relative to the report's folder, `alt` is read to those who do not see the figure, and `title` names it
    where it is folded away, as it is if it is `closed`.
    """

    path: str
    alt: str
    caption: str
    title: str = ""
    closed: bool = False

    def markdown(self) -> str:
        """The image with its caption below."""
        shown = f"![{self.alt}]({self.path})\n\n*{self.caption}*"
        return fold(self.title, shown) if self.closed else shown


def show_images(images: Sequence[Image]) -> str:
    """All images, one below the other."""
    return "\n\n".join(image.markdown() for image in images)
