"""The Markdown of a report (`report.md` or `claims.md`) as one HTML file that needs no network.

The page can be made from a report's folder at any time (`ebmbench report page`), so it is in no report and not in Git.
Figures, style and scripts are inside the file. A content security policy in its head allows only this style and these
scripts, by their hashes, so the page loads nothing and runs nothing else. The policy forbids `style` attributes, so a
table's alignment is a class. Raw HTML in the Markdown is shown as text, so that an exception's message cannot become
part of the page; only the `<details>` that the report itself writes pass unchanged. Links to files lead to the report's
folder from wherever the page is.
"""

import hashlib
import os
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

from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import PAGES

SCRIPTS = ("tables.js", "lightbox.js", "contents.js")
CONTENTS_LEVELS = (2, 3)  # of the headings in the table of contents
DETAILS = re.compile(r"<details>\n<summary>[^<>]*</summary>\n*|</details>\n*")
# Characters that need no escape in a quoted attribute and in a URI; `%`, `#`, `<`, `>` and `"` do.
SAFE = " !$&'()*+,-./:;=?@[]^_`{|}~"
VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
PIXELS = 96 / 72  # CSS pixels in a point, the unit of matplotlib's SVG

Env = dict[str, Any]
Embedded = tuple[str, int, int]  # data URI, width, height


@dataclass(frozen=True)
class Heading:
    """A heading of the report."""

    level: int
    anchor: str
    text: str


def write_page(folder: Path, out: Path) -> Path:
    """Write the page of the report in a folder to the file `out`."""
    source = next((folder / page for page in PAGES if (folder / page).is_file()), None)
    if source is None:
        raise UserError(f"{folder}: found no report, allowed: a folder with {' or '.join(PAGES)}")
    text = source.read_text(encoding="utf-8")
    write_text(out, render_page(text, folder, Path(os.path.relpath(folder, out.parent)).as_posix()))
    return out


def render_page(text: str, folder: Path, base: str = ".") -> str:
    """The whole page of a report's Markdown; `base` is the way from the page to the report's folder."""
    body, headings = render_body(text, folder, base)
    style, script = _read_asset("page.css"), "\n".join(map(_read_asset, SCRIPTS))
    parts = {
        "title": escapeHtml(headings[0].text if headings else "ebmbench"),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "contents": _render_contents(headings),
        "body": body,
    }
    # One pass, so that double braces inside a part are left alone.
    return re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], _read_asset("page.html"))


def render_body(text: str, folder: Path, base: str = ".") -> tuple[str, list[Heading]]:
    """The HTML of a report's Markdown, with the figures of `folder` inside, and its headings."""
    markdown = MarkdownIt("commonmark").enable("table")
    for rule in (image, link_open, html_block, html_inline, table_open, table_close):
        markdown.add_render_rule(rule.__name__, rule)
    tokens = _wrap_figures(markdown.parse(text))
    headings = _add_anchors(tokens)
    for token in tokens:
        if style := token.attrs.pop("style", ""):
            token.attrs["class"] = str(style).removeprefix("text-align:")
    return markdown.renderer.render(tokens, markdown.options, {"folder": folder, "base": base}), headings


def _policy(style: str, script: str) -> str:
    allowed = f"img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read_asset(name: str) -> str:
    return (files("ebmbench.report.page") / name).read_text(encoding="utf-8").strip()


def _render_contents(headings: Iterable[Heading]) -> str:
    """The table of contents: a line for each section and subsection."""
    lines = [
        f'<li class="level{one.level}"><a href="#{escapeHtml(one.anchor)}">{escapeHtml(one.text)}</a></li>'
        for one in headings
        if one.level in CONTENTS_LEVELS
    ]
    return "\n".join(lines)


def _add_anchors(tokens: Sequence[Token]) -> list[Heading]:
    """Give every heading its anchor, and label every table with the heading above it."""
    headings: list[Heading] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in tokens[place + 1].children or [])
            anchor = make_anchor(text, [one.anchor for one in headings])
            token.attrs["id"] = anchor
            headings.append(Heading(int(token.tag[1:]), anchor, text))
        elif token.type == "table_open" and headings:
            token.meta["label"] = headings[-1].text
    return headings


def make_anchor(text: str, taken: Sequence[str]) -> str:
    """The anchor that GitHub gives a heading: one that is taken already gets a number."""
    base = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    names = [base, *(f"{base}-{number}" for number in range(1, len(taken) + 1))]
    return next(name for name in names if name not in taken)


def _wrap_figures(tokens: list[Token]) -> list[Token]:
    """Turn each paragraph that is an image into a figure, and a paragraph in italics after it into its caption."""
    wrapped: list[Token] = []
    rest = list(tokens)
    while rest:
        if not _is_image(rest[:3]):
            wrapped.append(rest.pop(0))
            continue
        content, rest = rest[1:2], rest[3:]
        if _is_caption(rest[:3]):
            caption, rest = rest[1], rest[3:]
            caption.children = (caption.children or [])[1:-1]
            content += [Token("figcaption_open", "figcaption", 1), caption, Token("figcaption_close", "figcaption", -1)]
        wrapped += [Token("figure_open", "figure", 1), *content, Token("figure_close", "figure", -1)]
    return wrapped


def _is_image(tokens: Sequence[Token]) -> bool:
    return _is_paragraph(tokens) and [child.type for child in tokens[1].children or []] == ["image"]


def _is_caption(tokens: Sequence[Token]) -> bool:
    """Whether this is a paragraph that is inside one pair of asterisks."""
    children = tokens[1].children or [] if _is_paragraph(tokens) else []
    ends = [place for place, child in enumerate(children) if child.type == "em_close" and child.level == 0]
    return bool(children) and children[0].type == "em_open" and ends == [len(children) - 1]


def _is_paragraph(tokens: Sequence[Token]) -> bool:
    return [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]


# The render rules of markdown-it, which finds them by the names of its tokens.


def image(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """An image inside the page, or its text alone if it is no file of the report."""
    alt = escapeHtml(self.renderInlineAsText(tokens[place].children or [], options, env))
    embedded = _embed(env["folder"], str(tokens[place].attrs["src"]))
    if embedded is None:
        return alt
    source, width, height = embedded
    return f'<img src="{escapeHtml(source)}" alt="{alt}" width="{width}" height="{height}">'


def link_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """A link; one to a file of the report leads to the report's folder."""
    target = str(tokens[place].attrs["href"])
    if not target.startswith("#") and "://" not in target and env["base"] != ".":
        tokens[place].attrs["href"] = f"{quote(env['base'])}/{target}"
    return self.renderToken(tokens, place, options, env)


def html_block(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """The report's own `<details>` unchanged, anything else as text."""
    content = tokens[place].content
    return content if DETAILS.fullmatch(content) else f"<p>{escapeHtml(content)}</p>\n"


def html_inline(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """HTML inside a line as text: the report writes none."""
    return escapeHtml(tokens[place].content)


def table_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """A box in which the table scrolls, also by keys."""
    label = escapeHtml(tokens[place].meta.get("label", "Table"))
    return f'<div class="table" role="region" tabindex="0" aria-label="{label}"><table>\n'


def table_close(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """The end of the table and of its box."""
    return "</table></div>\n"


def _embed(folder: Path, source: str) -> Embedded | None:
    """An image of the folder as a data URI with its size, so that nothing moves as the page loads."""
    file = (folder / source).resolve()
    inside = file.is_relative_to(folder.resolve()) and file.is_file()
    readers = {".png": _embed_pixels, ".webp": _embed_pixels, ".svg": _embed_svg}
    return readers[file.suffix](file) if inside and file.suffix in readers else None


def _embed_pixels(file: Path) -> Embedded:
    with Image.open(file) as opened:
        width, height = opened.size
    return f"data:image/{file.suffix[1:]};base64,{b64encode(file.read_bytes()).decode()}", width, height


def _embed_svg(file: Path) -> Embedded:
    """An SVG as escaped text: a fifth smaller than in base64, and a third smaller once Git has packed it."""
    text = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
    view_box = VIEW_BOX.search(text)
    width, height = (float(size) * PIXELS for size in view_box.groups()) if view_box else (0.0, 0.0)
    return f"data:image/svg+xml,{quote(text, safe=SAFE)}", round(width), round(height)
