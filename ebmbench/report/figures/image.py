"""An image as the Markdown shows it: a relative path, a text for those who do not see it, a caption."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """`path` is relative to the report's folder."""

    path: str
    alt: str
    caption: str

    def markdown(self) -> str:
        """The image with its caption below."""
        return f"![{self.alt}]({self.path})\n\n*{self.caption}*"
