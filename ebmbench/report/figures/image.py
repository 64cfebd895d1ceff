"""An image as the Markdown shows it: a relative path, a text for those who do not see it, a caption."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """`path` is relative to the report's folder; `title` names the image where it is folded away."""

    path: str
    alt: str
    caption: str
    title: str = ""

    def markdown(self) -> str:
        """The image with its caption below."""
        return f"![{self.alt}]({self.path})\n\n*{self.caption}*"

    def folded(self) -> str:
        """The same, to be opened by the reader."""
        return f"<details>\n<summary>{self.title}</summary>\n\n{self.markdown()}\n\n</details>"
