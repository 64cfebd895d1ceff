"""Escape text from elsewhere (exceptions, names) for Markdown, so that it shows as it is and changes nothing.

Unescaped, a reason such as `</details>` would close a fold, `Net.__init__()` would print a word in bold, and raw HTML
could do worse. Marks are escaped so that GitHub and markdown-it read them alike. Code in backticks stays code only if
both agree that it is code: single backticks in pairs, no backslash, and no `<` inside. In doubt, as in `[a](`)<b>`,
every mark is escaped.
"""

import re

# An underscore inside a word is no mark, and names are full of them.
MARKS = re.compile(r"[\\`*\[\]~<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
ENTITIES = {"<": "&lt;", "&": "&amp;"}


def escape_text(text: str) -> str:
    """Escape all marks but `code` in backticks."""
    parts = text.split("`")
    codes = parts[1::2]
    doubtful = len(parts) % 2 == 0 or "\\" in text or "``" in text or any("<" in code for code in codes)
    if doubtful:
        return escape_all(text)
    return "`".join(part if place % 2 else escape_all(part) for place, part in enumerate(parts))


def escape_all(text: str) -> str:
    """Escape all marks."""
    return MARKS.sub(lambda match: ENTITIES.get(match[0], f"\\{match[0]}"), text)


def escape_cell(markdown: str) -> str:
    """Make Markdown fit for a cell of a table: one line, bars escaped, no HTML."""
    line = re.sub(r"\r\n|[\r\n]", " ", markdown)
    return (escape_all(line) if "<" in line else line).replace("|", "\\|")
