"""`index.html`: the report for those who browse, in one file that needs no network.

Its content is the rendered text of `report.md` (of claims, `claims.md`), hence the same. Figures, style and scripts
are inside; a policy in the head allows these very styles and scripts, by their hashes, and nothing else, so that the
page loads nothing and runs nothing that it did not bring.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from markdown_it.common.utils import escapeHtml

from ebmbench.report.body import Heading, render

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
