"""Figures as Markdown: the image with its caption, and many of them folded away."""

from collections.abc import Sequence
from dataclasses import dataclass

from ebmbench.report.text.words import fold

MANY = 4  # images below one heading; of more, only the first is open


@dataclass(frozen=True)
class Image:
    """A figure of a report.

    `path` is relative to the report's folder, `alt` is read to those who do not see the figure, `title` names it where
    it is folded away, and `heading` is the heading inside its section that it stands below.
    """

    path: str
    alt: str
    caption: str
    title: str = ""
    heading: str = ""

    def markdown(self) -> str:
        """The image with its caption below."""
        return f"![{self.alt}]({self.path})\n\n*{self.caption}*"

    def folded(self) -> str:
        """The same, closed until the reader opens it."""
        return fold(self.title, self.markdown())


def show_images(images: Sequence[Image]) -> str:
    """All images, one below the other."""
    return "\n\n".join(image.markdown() for image in images)


def fold_images(images: Sequence[Image]) -> str:
    """All images if they are few; of many, the first is open and the others are folded."""
    if len(images) <= MANY:
        return show_images(images)
    return "\n\n".join([images[0].markdown(), *(image.folded() for image in images[1:])])
