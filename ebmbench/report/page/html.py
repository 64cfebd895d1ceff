"""Figures inside a page, each a data URI with its size: one file is all there is to send, nothing moves as it loads.

A PNG is written in base64. An SVG stays text with few characters escaped: a fifth smaller than in base64, and a third
smaller as Git packs it.

The Markdown of a report as HTML: the same text, with anchors as on GitHub, figures with captions, tables in boxes.

Of raw HTML only the folds that the report itself writes are let through, letter for letter; anything else is shown
as text, so that no exception's message can become part of the page. Alignment is a class and not a style, for the
page's policy forbids styles that it does not know.

`index.html`: the report for those who browse, in one file that needs no network.

Its content is the rendered text of `report.md` (of claims, `claims.md`), hence the same. Figures, style and scripts
are inside; a policy in the head allows these very styles and scripts, by their hashes, and nothing else, so that the
page loads nothing and runs nothing that it did not bring.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from PIL import Image

# All that may stand in a quoted attribute and in a URI as it is; `%`, `#`, `<`, `>`, `"` may not.
SAFE = " !$&'()*+,-./:;=?@[]^_`{|}~"
VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
PIXELS = 96 / 72  # of CSS in a point, the unit of matplotlib's SVG

Embedded = tuple[str, int, int]


def embed(folder: Path, source: str) -> Embedded | None:
    """The data URI, width and height of a figure, or None if it is no PNG or SVG file inside the folder."""
    file = (folder / source).resolve()
    inside = file.is_relative_to(folder.resolve()) and file.is_file()
    readers = {".png": _png, ".svg": _svg}
    return readers[file.suffix](file) if inside and file.suffix in readers else None


def _png(file: Path) -> Embedded:
    with Image.open(file) as opened:
        width, height = opened.size
    return f"data:image/png;base64,{b64encode(file.read_bytes()).decode()}", width, height


def _svg(file: Path) -> Embedded:
    text = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
    found = VIEW.search(text)
    width, height = (float(size) * PIXELS for size in found.groups()) if found else (0.0, 0.0)
    return f"data:image/svg+xml,{quote(text, safe=SAFE)}", round(width), round(height)


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


SCRIPTS = ("tables.js", "lightbox.js", "contents.js")
SHOWN = (2, 3)  # levels of headings in the table of contents


def write_page(folder: Path, source: str = "report.md") -> Path:
    """Write `index.html` beside the Markdown of a folder."""
    text = (folder / source).read_text(encoding="utf-8")
    out = folder / "index.html"
    out.write_text(page(text, folder), encoding="utf-8", newline="\n")
    return out


def page(text: str, folder: Path) -> str:
    """The whole page of a report's Markdown."""
    body, headings = render(text, folder)
    style, script = _part("page.css"), "\n".join(map(_part, SCRIPTS))
    parts = {
        "title": escapeHtml(headings[0].text if headings else "ebmbench"),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "contents": contents(headings),
        "body": body,
    }
    # In one pass: what a part says in double braces is its own.
    return re.sub(r"{{(\w+)}}", lambda found: parts[found[1]], _part("page.html"))


def contents(headings: Iterable[Heading]) -> str:
    """The table of contents: a line for each section and part of one."""
    lines = [
        f'<li class="level{one.level}"><a href="#{escapeHtml(one.anchor)}">{escapeHtml(one.text)}</a></li>'
        for one in headings
        if one.level in SHOWN
    ]
    return "\n".join(lines)


def _policy(style: str, script: str) -> str:
    allowed = f"img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return (files("ebmbench.report") / "page" / name).read_text(encoding="utf-8").strip()
