"""Tables sort by a click or a key: odd numbers as numbers, what is missing last, and every row keeps its dataset."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from ebmbench.report.text.tables import markdown_table
from tests.browser.conftest import BuildPage, Visit, wait_for

Written = Callable[[str], Path]

NUMBERS = [
    "0.31\u00a0±\u00a00.02",
    "4.5e−6\u00a0±\u00a00",
    "−1.5",
    "–",
    "**−∞**",
    "∞",
    "1\u202f234\u202f567",
    "0.0848\u00a0±\u00a00.04\u00a0(2/3)",
    "999",
]
NUMBERS += ["– (failed)", "1.2e3", "3/3 ok", "+2.5 %", "−0.02\u00a0±\u00a00.01"]
RISING = [
    "−∞",
    "−1.5",
    "−0.02\u00a0±\u00a00.01",
    "4.5e−6\u00a0±\u00a00",
    "0.0848\u00a0±\u00a00.04\u00a0(2/3)",
    "0.31\u00a0±\u00a00.02",
    "+2.5 %",
    "999",
    "1.2e3",
]
RISING += ["1\u202f234\u202f567", "∞"]
LAST = ["3/3 ok", "–", "– (failed)"]  # words, then what is missing, whatever the direction
GROUPS = [["`moons`", "mle", "0.3"], ["", "nce", "0.1"], ["`rings`", "mle", "0.2"], ["", "nce", "–"]]


def column(page: Page, place: int) -> list[str]:
    return page.eval_on_selector_all(f"tbody td:nth-child({place})", "all => all.map((cell) => cell.textContent)")


def rows(page: Page) -> list[list[str]]:
    return page.eval_on_selector_all(
        "tbody tr", "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


@pytest.fixture
def numbers(written: Written, visit: Visit) -> Page:
    table = markdown_table(["method", "KL ↓", "IS ↑"], [[f"m{place}", one, one] for place, one in enumerate(NUMBERS)])
    return visit(written(f"# a\n\n{table}\n"))


@pytest.fixture
def groups(written: Written, visit: Visit) -> Page:
    return visit(written(f"# a\n\n{markdown_table(['dataset', 'method', 'KL ↓'], GROUPS, left=2)}\n"), width=400)


def test_numbers_sort_as_numbers_and_a_second_click_reverses(numbers: Page) -> None:
    head = numbers.locator("th", has_text="KL")
    head.locator("button").click()
    assert column(numbers, 2) == RISING + LAST
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert column(numbers, 2) == RISING[::-1] + LAST
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert column(numbers, 2) == RISING + LAST


def test_where_more_is_better_the_first_click_puts_the_most_first(numbers: Page) -> None:
    numbers.locator("th", has_text="IS").locator("button").click()
    assert column(numbers, 3) == RISING[::-1] + LAST


def test_one_column_at_a_time_is_marked_as_sorted(numbers: Page) -> None:
    for head in numbers.locator("th").all():
        head.locator("button").click()
        assert numbers.locator("th[aria-sort]").count() == 1
        assert head.get_attribute("aria-sort")


def test_words_sort_by_the_numbers_in_them(numbers: Page) -> None:
    numbers.locator("th", has_text="method").locator("button").click()
    assert column(numbers, 1) == [f"m{place}" for place in range(len(NUMBERS))]
    numbers.locator("th", has_text="method").locator("button").click()
    assert column(numbers, 1) == [f"m{place}" for place in reversed(range(len(NUMBERS)))]


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_header_is_reached_and_pressed_by_keys(numbers: Page, key: str) -> None:
    numbers.locator("main").focus()
    numbers.keyboard.press("Tab")
    numbers.keyboard.press("Tab")
    assert numbers.evaluate("document.activeElement.textContent") == "KL ↓"
    numbers.keyboard.press(key)
    assert column(numbers, 2) == RISING + LAST
    assert numbers.evaluate("document.activeElement.textContent") == "KL ↓"


def test_a_sorted_row_names_its_dataset_and_the_original_order_comes_back(groups: Page) -> None:
    before = rows(groups)
    assert [row[0] for row in before] == ["moons", "", "rings", ""]
    groups.locator("th", has_text="KL").locator("button").click()
    assert rows(groups) == [
        ["moons", "nce", "0.1"],
        ["rings", "mle", "0.2"],
        ["moons", "mle", "0.3"],
        ["rings", "nce", "–"],
    ]
    groups.locator("th", has_text="dataset").locator("button").click()
    assert [row[0] for row in rows(groups)] == ["moons", "moons", "rings", "rings"]
    groups.get_by_role("button", name="Original order").click()
    assert rows(groups) == before
    assert groups.locator("th[aria-sort]").count() == 0


def test_sorting_the_main_table_of_a_report_loses_nothing(report: Path, build_page: BuildPage, visit: Visit) -> None:
    page = visit(build_page(report), width=400)
    page.evaluate("document.querySelector('#main-table ~ details').open = true")
    table = page.locator("table.grouped", has_text="off-support")
    read = "table => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    before = table.evaluate(read)
    dataset = ""
    for row in before:
        row[0] = dataset = row[0] or dataset
    table.locator("th button").nth(2).click()
    after = table.evaluate(read)
    assert after != before
    assert sorted(after) == sorted(before)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize(
    ("first", "second", "pinned"),
    [("a", "mle", [1]), ("", "mle", [1, 2]), ("", "adance with interval=100, steps=1000", [2])],
    ids=["names", "groups", "groups with long names"],
)
def test_a_wide_table_scrolls_in_its_box_and_keeps_its_names_in_view(
    first: str, second: str, pinned: list[int], written: Written, visit: Visit
) -> None:
    table = markdown_table(["dataset", "method", *"abcdefgh"], [["moons", *["0.1234 ± 0.1234"] * 9], [first, second]])
    page = visit(written(f"# a\n\n{table}\n"), width=400)
    box = page.locator(".table")
    box.focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    wait_for(page, "document.querySelector('.table').scrollLeft > 300")
    lefts = box.locator("tr:last-child td").evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    assert [place for place in (1, 2) if lefts[place - 1] >= 0] == pinned
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
