"""Every report's page in a browser: whole, quiet, narrow enough, readable in light and dark, as the Markdown says."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ebmbench.report.build import build
from ebmbench.report.page.html import write_page
from ebmbench.workspace.failures import note_failure
from tests.browser.conftest import BuildPage, Index, Visit, wait_for
from tests.browser.contrast import READ, contrast
from tests.report.printed import tables

OPEN = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
CELLS = "all => all.map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
REASON = "<script>document.title = 'hacked'</script></details> `<img src=x onerror=alert(1)>` & Net.__init__ [a](`)<b>`"


def test_no_image_is_broken_and_nothing_is_fetched(index: Index, visit: Visit) -> None:
    page = visit(index.file)
    page.evaluate("Promise.all([...document.querySelectorAll('main img')].map((image) => image.decode()))")
    widths = page.eval_on_selector_all("main img", "all => all.map((image) => image.naturalWidth)")
    markdown = (index.report / "report.md").read_text(encoding="utf-8")
    assert len(widths) == len(re.findall(r"^!\[", markdown, re.MULTILINE))
    assert min(widths) > 0


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(index: Index, visit: Visit, width: int) -> None:
    page = visit(index.file, width=width)
    assert page.evaluate(SIDEWAYS) <= 0
    page.evaluate(OPEN)
    assert page.evaluate(SIDEWAYS) <= 0
    page.evaluate("scrollTo(500, 0)")
    assert page.evaluate("scrollX") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_all_text_is_readable(index: Index, visit: Visit, scheme: str, width: int) -> None:
    found = contrast(visit(index.file, width=width, scheme=scheme))
    assert set(found) >= {"p", "td", "th", "nav a", "figcaption", "td strong"}
    assert {name: ratio for name, ratio in found.items() if ratio < READ} == {}


def test_dark_is_dark_and_its_figures_stay_on_white(index: Index, visit: Visit) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit(index.file), visit(index.file, scheme="dark")
    assert light.evaluate(ground) == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark.evaluate(ground)))) < 64
    cards = dark.eval_on_selector_all("main img", "all => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert set(cards) == {"rgb(255, 255, 255)"}


def test_the_tables_say_what_the_markdown_says(index: Index, visit: Visit) -> None:
    expected = [[[text_of(cell) for cell in row] for row in table] for table in tables(index.report)]
    assert visit(index.file).eval_on_selector_all("main table", CELLS) == expected


def test_every_anchor_leads_to_its_heading(index: Index, visit: Visit) -> None:
    page = visit(index.file)
    names = page.eval_on_selector_all("a[href^='#']", "all => all.map((link) => link.hash.slice(1))")
    assert "failures-and-skipped" in names
    assert not [name for name in names if not page.evaluate("name => !!document.getElementById(name)", name)]
    page.click("nav a[href='#failures-and-skipped']")
    wait_for(page, "document.querySelector('#failures-and-skipped').getBoundingClientRect().top < innerHeight")
    assert page.evaluate("document.querySelector('#failures-and-skipped').getBoundingClientRect().top") >= 0


def test_links_to_files_are_relative_and_lead_to_them(index: Index, visit: Visit) -> None:
    links = visit(index.file).eval_on_selector_all("a", "all => all.map((link) => link.getAttribute('href'))")
    paths = [link.partition("#")[0] for link in links if "://" not in link]
    files = [(index.file.parent / path).resolve() for path in paths if path]
    own = [file for file in files if file.is_relative_to(index.report)]
    assert index.report / "results.csv" in own
    assert all(file.is_file() for file in own)
    assert all(file.is_relative_to(index.report.parents[2] / "docs") for file in files if file not in own)


def test_the_contents_mark_where_the_reader_is(index: Index, visit: Visit) -> None:
    for width in (400, 1280):
        page = visit(index.file, width=width)
        page.evaluate("document.querySelector('#other-metrics').scrollIntoView()")
        page.wait_for_selector("nav a[href='#other-metrics'][aria-current]")
        assert page.locator("nav a[aria-current]").count() == 1


def test_a_fold_opens_and_shows_its_table(report: Path, build_page: BuildPage, visit: Visit) -> None:
    page = visit(build_page(report))
    fold = page.locator("#main-table ~ details").first
    assert not fold.locator("table").first.is_visible()
    fold.locator("summary").first.click()
    assert fold.locator("table").first.is_visible()


@pytest.fixture
def injected(root: Path, params: dict[str, Any], text_only: None, tmp_path: Path) -> Path:
    """The page of a suite that failed with a message full of marks."""
    note_failure(root, "tiny", "train@two_moons-adance", REASON)
    return write_page(build(root, params), tmp_path / "injected.html")


def test_a_reason_full_of_marks_is_shown_and_does_nothing(injected: Path, visit: Visit) -> None:
    page = visit(injected)
    assert page.title() == "ebmbench: suite tiny"
    assert REASON in page.locator("#failures-and-skipped ~ div").first.inner_text()
    assert page.locator("main script, main b, main img[onerror]").count() == 0
    assert page.locator("details table").count() > 2


def test_a_script_that_got_into_the_page_is_not_run(
    report: Path, build_page: BuildPage, tmp_path: Path, visit: Visit, troubles: list[str]
) -> None:
    text = build_page(report).read_text(encoding="utf-8")
    spoiled = tmp_path / "index.html"
    spoiled.write_text(text.replace("<main", "<script>document.title = 'hacked'</script><main"), encoding="utf-8")
    assert visit(spoiled).title() == "ebmbench: suite tiny"
    assert "Content Security Policy" in troubles.pop()


def text_of(cell: str) -> str:
    """A cell of Markdown without its marks."""
    bare = re.sub(r"(?<!\\)[*`]", "", cell)
    return unescape(re.sub(r"\\(.)", r"\1", bare))
