"""Pages in the system's own Chromium, without a window and without a network.

Whatever a test does with a page, it fails if the page wrote an error, or asked for anything beyond its own file.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from ebmbench.report.page.html import write_page
from tests.report.fixtures import catalogue, image_params, image_report, params, report, root, text_only

__all__ = ["catalogue", "image_params", "image_report", "params", "report", "root", "text_only"]

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
MISSING = "no browser: none of chromium, chromium-browser, google-chrome is on the path; `make browser` says more"
# Reports by the present layout: older ones have no curves.
COMMITTED = sorted(file.parent for file in (Path(__file__).parents[2] / "reports").glob("*/latest/curves.csv"))
FIRST = "quick"  # the committed report that every run of the tests looks at; the others take minutes
Visit = Callable[..., Page]
BuildPage = Callable[[Path], Path]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Skips where there is no browser, but not where nobody would notice."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def troubles() -> list[str]:
    """What pages complained of and asked for; a test that provokes it takes it out."""
    return []


@pytest.fixture
def visit(browser: Browser, troubles: list[str]) -> Iterator[Visit]:
    """`visit(file, width=…, scheme=…)` opens a page; at the end of the test there must be no troubles."""
    opened: list[Page] = []

    def open_page(file: Path, width: int = 1280, scheme: str = "light") -> Page:
        size = {"width": width, "height": 800}
        page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        page.set_default_timeout(30_000)
        page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: troubles.append(asked.url[:200]) if foreign(asked.url, file) else None)
        opened.append(page)
        page.goto(file.as_uri())
        return page

    yield open_page
    for page in opened:
        page.close()
    assert not troubles


@dataclass(frozen=True)
class Index:
    """A page, and the folder of its report."""

    file: Path
    report: Path


@pytest.fixture(scope="package")
def build_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The page of a report, which is built once."""
    folder = tmp_path_factory.mktemp("pages")

    def page(report: Path) -> Path:
        file = folder / f"{report.parents[2].name}-{report.parent.name}.html"
        return file if file.exists() else write_page(report, file)

    return page


def _committed(report: Path) -> Any:
    name = report.parent.name
    return pytest.param(report, id=name, marks=[] if name == FIRST else pytest.mark.slow)


@pytest.fixture(params=["report", "image_report", *map(_committed, COMMITTED)])
def index(request: pytest.FixtureRequest, build_page: BuildPage) -> Index:
    """The page of each report that there is."""
    of = request.param
    report = of if isinstance(of, Path) else request.getfixturevalue(of)
    return Index(build_page(report), report)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A page of a Markdown text of one's own, with the figures that lie beside it."""

    def write(text: str) -> Path:
        (tmp_path / "report.md").write_text(text, encoding="utf-8")
        return write_page(tmp_path, tmp_path / "index.html")

    return write


def foreign(url: str, file: Path) -> bool:
    """Whether a request is for anything but the page itself and what is inside it."""
    return not url.startswith("data:") and url.partition("#")[0] != file.as_uri()


def wait_for(page: Page, condition: str) -> None:
    """Wait until JavaScript is true; the page's own policy forbids what Playwright's `wait_for_function` does."""
    end = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never true: {condition}"
        time.sleep(0.02)
