"""Text that somebody else wrote, for Markdown: exceptions and names must show as they are, and act on nothing.

A reason such as `</details>` or `Net.__init__() failed` would close a fold or print a word in bold, and raw HTML could
do worse on a page of one's own. Marks are escaped in ways that GitHub and markdown-it read alike. Code in backticks
stays code only where both agree on what is code: single backticks in pairs, no backslash, and no `<` inside. What
both read as code by accident, as in `[a](`)<b>`, is not left to accident: in doubt, every mark is escaped.
"""

import re

# An underscore inside a word marks nothing, and names are full of them.
MARKS = re.compile(r"[\\`*\[\]~<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
ENTITIES = {"<": "&lt;", "&": "&amp;"}


def literal(text: str) -> str:
    """Plain text that may hold `code`, with all other marks escaped."""
    parts = text.split("`")
    codes = parts[1::2]
    doubtful = len(parts) % 2 == 0 or "\\" in text or "``" in text or any("<" in code for code in codes)
    if doubtful:
        return letters(text)
    return "`".join(part if place % 2 else letters(part) for place, part in enumerate(parts))


def letters(text: str) -> str:
    """Every mark of the text as the letter that it is."""
    return MARKS.sub(lambda found: ENTITIES.get(found[0], f"\\{found[0]}"), text)


def cell(markdown: str) -> str:
    """Markdown as a cell of a table: on one line, without a bar that ends it, and without HTML."""
    line = re.sub(r"\r\n|[\r\n]", " ", markdown)
    return (letters(line) if "<" in line else line).replace("|", "\\|")
