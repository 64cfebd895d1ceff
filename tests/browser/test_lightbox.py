"""Figures enlarge over the window, lead to each other, and let go of the reader again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser.conftest import BuildPage, Visit, wait_for

TEXT = """# a

![first figure](figures/a.png)

*The `first` of three.*

![second figure](figures/b.svg)

*The second.*

<details>
<summary>third</summary>

![third figure](figures/c.png)

*The third.*

</details>
"""
SIZE = 'viewBox="0 0 720 360" width="720pt" height="360pt"'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" {SIZE}><path d="M0 0h9" stroke="#0a0"/></svg>'


@pytest.fixture
def gallery(tmp_path: Path, written: Callable[[str], Path]) -> Path:
    (tmp_path / "figures").mkdir()
    Image.new("L", (1200, 600), 200).save(tmp_path / "figures/a.png")
    Image.new("L", (600, 1500), 200).save(tmp_path / "figures/c.png")
    (tmp_path / "figures/b.svg").write_text(SVG, encoding="utf-8")
    return written(TEXT)


def enlarged(page: Page) -> str:
    """The text of the figure that is shown large; empty if none is."""
    return page.locator("dialog img").get_attribute("alt") or "" if page.locator("dialog").is_visible() else ""


@pytest.mark.parametrize("width", [400, 1280])
def test_a_click_enlarges_a_figure_with_its_caption_and_escape_closes_it(
    gallery: Path, visit: Visit, width: int
) -> None:
    page = visit(gallery, width=width)
    before = page.locator("main img").first.bounding_box()["width"]
    page.locator("main img").first.click()
    assert enlarged(page) == "first figure"
    assert page.locator("dialog .caption").inner_text() == "The first of three."
    assert page.locator("dialog output").inner_text() == "1 / 3"
    page.locator("dialog img").click()
    assert page.locator("dialog img").bounding_box()["width"] > 1.5 * before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    assert enlarged(page) == ""


def test_all_of_it_works_by_keys(gallery: Path, visit: Visit) -> None:
    page = visit(gallery)
    page.locator("main").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    seen = [enlarged(page)]
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(enlarged(page).split()[0])
    assert seen == ["first figure", "second", "third", "first", "third", "second"]
    assert page.locator("dialog img").evaluate("async (image) => (await image.decode(), image.naturalWidth)") > 0
    page.keyboard.press("Escape")
    assert enlarged(page) == ""
    # The browser tells the page of the closed dialog a moment later.
    wait_for(page, "document.activeElement.querySelector('img')?.alt === 'second figure'")


def test_the_buttons_move_and_close(gallery: Path, visit: Visit) -> None:
    page = visit(gallery, width=400)
    page.get_by_role("button", name="second figure").click()
    page.get_by_role("button", name="Next figure").click()
    assert enlarged(page) == "third figure"
    page.get_by_role("button", name="Previous figure").click()
    assert enlarged(page) == "second figure"
    page.get_by_role("button", name="Close").click()
    assert enlarged(page) == ""


def test_a_tall_figure_is_shown_whole(gallery: Path, visit: Visit) -> None:
    page = visit(gallery)
    page.locator("main img").first.click()
    page.keyboard.press("ArrowLeft")
    assert enlarged(page) == "third figure"
    box = page.locator("dialog img").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 800


def test_every_figure_of_a_report_can_be_enlarged(report: Path, build_page: BuildPage, visit: Visit) -> None:
    page = visit(build_page(report), scheme="dark")
    captions = page.eval_on_selector_all("figcaption", "all => all.map((one) => one.textContent)")
    page.locator("main img").first.click()
    shown = []
    for _ in captions:
        shown.append(page.locator("dialog .caption").text_content())
        page.keyboard.press("ArrowRight")
    assert shown == captions
