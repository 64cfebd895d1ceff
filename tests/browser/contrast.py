"""How well text stands out from what is behind it, by WCAG 2: the ratio of luminances, from 1 to 21."""

import re

from playwright.sync_api import Page

READ = 4.5  # WCAG 2.2, 1.4.3, level AA
TEXTS = ("p", "li", "h1", "h2", "h3", "main a", "nav a", "nav a[aria-current]", "th", "td", "td strong", "td em")
TEXTS += ("td code", "p code", "pre code", "summary", "figcaption", "figcaption code", "dialog button", ".caption")
# Every pair of colours of an element's text and of the first ground behind it that is not transparent.
PAIRS = """
(name) => [...document.querySelectorAll(name)].map((one) => {
  let behind = one;
  while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)" && behind.parentElement) {
    behind = behind.parentElement;
  }
  return [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor].join("|");
})
"""


def contrast(page: Page) -> dict[str, float]:
    """The lowest ratio of each kind of text that the page has."""
    found = {name: set(page.evaluate(PAIRS, name)) for name in TEXTS}
    return {name: min(map(_ratio, pairs)) for name, pairs in found.items() if pairs}


def _ratio(pair: str) -> float:
    low, high = sorted(map(_luminance, pair.split("|")))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", colour), colour
    red, green, blue = (_linear(int(part) / 255) for part in re.findall(r"\d+", colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
