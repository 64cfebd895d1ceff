"""Papers as Markdown links."""

from collections.abc import Sequence

from ebmbench.report.text.escaping import escape_all

BETWEEN = "; "  # the papers that one source names


def link_papers(text: str, links: Sequence[str]) -> str:
    """The papers of a source, those with an address as links: `[Younes 1999](https://…); Du 2019`."""
    parts = [escape_all(part) for part in text.split(BETWEEN)]
    return BETWEEN.join([f"[{part}]({link})" for part, link in zip(parts, links, strict=False)] + parts[len(links) :])
