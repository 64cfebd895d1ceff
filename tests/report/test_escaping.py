"""What others wrote shows letter by letter: no reason closes a fold, runs as a script or loses its underscores."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ebmbench.report.text.escaping import escape_all, escape_text
from ebmbench.report.text.links import link_papers
from ebmbench.report.text.tables import markdown_table

NASTY = ["`", "``", "<", ">", "</details>", "<script>", "<b>", "&lt;", "&", "&#60;", "\\", "|", "[a](", ")", "![", "]"]
NASTY += ["*", "**", "__", "_", "a", "b c", "~~", "<!--", "-->", "\n", "\r", "http://a.b", "1", ".", "(", '"', "'"]
texts = st.lists(st.sampled_from(NASTY), max_size=12).map("".join)


def shown(markdown: str) -> str:
    """The cell as HTML, by a reader that lets all HTML through."""
    page = MarkdownIt("commonmark").enable("table").render(markdown_table(["a"], [["first"], [markdown]]))
    return re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)[1]


def words(text: str) -> str:
    """Without what Markdown does to spaces."""
    return " ".join(text.split())


@settings(max_examples=400, deadline=None, derandomize=True)
@given(texts)
def test_letters_show_every_mark_as_it_is(text: str) -> None:
    found = shown(escape_all(text))
    assert not re.search("<[^>]*>", found)
    assert words(unescape(found)) == words(text)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(texts)
def test_a_literal_text_is_words_and_code_and_nothing_else(text: str) -> None:
    found = shown(escape_text(text))
    assert not re.search("<(?!/?code>)", found)
    bare = re.sub("</?code>", "", found)
    assert words(unescape(bare).replace("`", "")) == words(text.replace("`", ""))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(texts)
def test_no_cell_of_any_table_becomes_html(text: str) -> None:
    ours = "</?(code|em|strong|a|img)( [^>]*)?>"
    assert "<" not in re.sub(ours, "", shown(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`train@two_moons-mle`: out of memory", "<code>train@two_moons-mle</code>: out of memory"),
        ("Net.__init__() needs sample_size", "Net.__init__() needs sample_size"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("`evaluate`: found `<b>`", "`evaluate`: found `&lt;b&gt;`"),
        ("[a](`)<b>`", "[a](`)&lt;b&gt;`"),
        ("C:\\data|more", "C:\\data|more"),
        ("AT&amp;T & co", "AT&amp;amp;T &amp; co"),
    ],
)
def test_reasons_read_as_they_were_written(text: str, expected: str) -> None:
    assert shown(escape_text(text)) == expected


def test_names_stay_readable_in_the_source() -> None:
    assert (
        escape_text("sample_size of `two_moons` is 3.5 (at most 2)") == "sample_size of `two_moons` is 3.5 (at most 2)"
    )


@pytest.mark.parametrize(
    ("text", "links", "expected"),
    [
        ("A, 1999", (), "A, 1999"),
        ("A, 1999", ("https://a",), "[A, 1999](https://a)"),
        ("A [sic], 1999", ("https://a",), "[A \\[sic\\], 1999](https://a)"),
        ("A 1999; B 2019", ("https://a", "https://b"), "[A 1999](https://a); [B 2019](https://b)"),
        ("A 1999; as in <B>", ("https://a",), "[A 1999](https://a); as in &lt;B>"),
    ],
)
def test_papers_are_links_in_the_order_of_their_addresses(text: str, links: tuple[str, ...], expected: str) -> None:
    assert link_papers(text, links) == expected
