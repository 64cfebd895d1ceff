"""The Markdown of a report as HTML: the same text, with anchors as on GitHub, figures with captions, tables in boxes.

Of raw HTML only the folds that the report itself writes are let through, letter for letter; anything else is shown
as text, so that no exception's message can become part of the page. Alignment is a class and not a style, for the
page's policy forbids styles that it does not know.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from ebmbench.report.embedded import embed

FOLD = re.compile(r"<details>\n<summary>[^<>]*</summary>\n*|</details>\n*")
Env = dict[str, Any]


@dataclass(frozen=True)
class Heading:
    """A place that the table of contents leads to."""

    level: int
    anchor: str
    text: str


def render(text: str, folder: Path) -> tuple[str, list[Heading]]:
    """HTML of a report's Markdown with the images of `folder` inside, and its headings."""
    markdown = MarkdownIt("commonmark").enable("table")
    for rule in (image, html_block, html_inline, table_open, table_close):
        markdown.add_render_rule(rule.__name__, rule)
    tokens = figures(markdown.parse(text))
    headings = anchored(tokens)
    for token in tokens:
        if style := token.attrs.pop("style", ""):
            token.attrs["class"] = str(style).removeprefix("text-align:")
    return markdown.renderer.render(tokens, markdown.options, {"folder": folder}), headings


def anchored(tokens: Sequence[Token]) -> list[Heading]:
    """Give every heading its anchor, and every table the name of the heading above it."""
    found: list[Heading] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            words = plain(tokens[place + 1])
            token.attrs["id"] = anchor(words, [one.anchor for one in found])
            found.append(Heading(int(token.tag[1:]), str(token.attrs["id"]), words))
        elif token.type == "table_open" and found:
            token.meta["label"] = found[-1].text
    return found


def anchor(words: str, taken: Sequence[str]) -> str:
    """The anchor that GitHub gives a heading; of equal ones, the later are numbered."""
    base = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
    names = [base, *(f"{base}-{number}" for number in range(1, len(taken) + 1))]
    return next(name for name in names if name not in taken)


def figures(tokens: list[Token]) -> list[Token]:
    """Make a figure of each paragraph that is an image, and its caption of the one in italics that follows."""
    made: list[Token] = []
    rest = list(tokens)
    while rest:
        if not _is_image(rest[:3]):
            made.append(rest.pop(0))
            continue
        shown, rest = rest[1:2], rest[3:]
        if _is_caption(rest[:3]):
            said, rest = rest[1], rest[3:]
            said.children = (said.children or [])[1:-1]
            shown += [Token("figcaption_open", "figcaption", 1), said, Token("figcaption_close", "figcaption", -1)]
        made += [Token("figure_open", "figure", 1), *shown, Token("figure_close", "figure", -1)]
    return made


def plain(inline: Token) -> str:
    """The words of a line without its marks."""
    return "".join(child.content for child in inline.children or [])


def image(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """An image as part of the page; what is no file of the report is its text alone."""
    alt = escapeHtml(self.renderInlineAsText(tokens[place].children or [], options, env))
    found = embed(env["folder"], str(tokens[place].attrs["src"]))
    if found is None:
        return alt
    source, width, height = found
    return f'<img src="{escapeHtml(source)}" alt="{alt}" width="{width}" height="{height}">'


def html_block(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """A fold as it is, anything else as text."""
    content = tokens[place].content
    return content if FOLD.fullmatch(content) else f"<p>{escapeHtml(content)}</p>\n"


def html_inline(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """HTML inside a line is text: the report writes none."""
    return escapeHtml(tokens[place].content)


def table_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """A box around the table that scrolls in its place, also by keys."""
    label = escapeHtml(tokens[place].meta.get("label", "Table"))
    return f'<div class="table" role="region" tabindex="0" aria-label="{label}"><table>\n'


def table_close(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """The end of the table and of its box."""
    return "</table></div>\n"


def _is_image(part: Sequence[Token]) -> bool:
    return _is_paragraph(part) and [child.type for child in part[1].children or []] == ["image"]


def _is_caption(part: Sequence[Token]) -> bool:
    """A paragraph of which all is inside one pair of asterisks."""
    children = part[1].children or [] if _is_paragraph(part) else []
    ends = [place for place, child in enumerate(children) if child.type == "em_close" and child.level == 0]
    return bool(children) and children[0].type == "em_open" and ends == [len(children) - 1]


def _is_paragraph(part: Sequence[Token]) -> bool:
    return [token.type for token in part] == ["paragraph_open", "inline", "paragraph_close"]
