"""The documents tell the truth: links lead somewhere, tables name what exists."""

import re
from pathlib import Path

import pytest

from ebmbench.config.registry import entries, names
from tests.architecture.test_contributing import EXAMPLES
from tests.architecture.test_layers import ALLOWED

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "reports" / "README.md"]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
METHODS = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_the_page_on_methods_names_every_method_and_dataset() -> None:
    assert not [name for name in [*names("methods"), *names("data"), *names("baselines")] if f"`{name}`" not in METHODS]


def test_the_page_on_methods_links_the_papers_of_every_method() -> None:
    for name, entry in entries("methods").items():
        row = re.search(rf"(?m)^\| `{name}` \| (\d+) \|.*$", METHODS)
        assert row is not None, name
        assert (int(row[1]), tuple(re.findall(r"\]\((.*?)\)", row[0]))) == (entry.year, entry.links)


def test_the_readme_opens_with_the_answer_two_figures_and_the_first_table_of_the_committed_report() -> None:
    text, latest = (ROOT / "README.md").read_text(encoding="utf-8"), ROOT / "reports" / "quick" / "latest"
    report, screen = (latest / "report.md").read_text(encoding="utf-8"), text.partition("## ")[0]
    answer = re.search(r"(?m)^- \*\*.*(?:\n- .*)+", report)
    first = re.search(r"(?m)^\|.*(?:\n\|.*)+", report)
    assert len(answer[0].splitlines()) > 2
    assert answer[0] in screen
    assert first[0] in screen
    assert len(re.findall(r"\]\(reports/quick/latest/figures/\S+\.png\)", screen)) == 2


def test_the_protocols_table_of_metrics_names_what_exists() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    rows = re.search(r"\| metric \| .*\n\| --- .*\n((?:\|.*\n)+)", text)[1].splitlines()
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(named) > 20
    assert named <= set(names("metrics"))


def test_the_architecture_page_has_a_sentence_for_every_folder() -> None:
    folders = {
        f"{file.parent.relative_to(ROOT).as_posix()}/"
        for top in ("ebmbench", "pipelines")
        for file in (ROOT / top).rglob("__init__.py")
    }
    assert set(re.findall(r"(?m)^\| `([\w/]+/)` \| .+\. \|$", ARCHITECTURE)) == folders - {"ebmbench/"}


def test_the_architecture_page_lists_the_layers_from_the_lowest_to_the_highest() -> None:
    lines = re.findall(r"(?m)^\d+\. (`.+`)$", ARCHITECTURE.split("## Layers")[1])
    below = {"errors"}
    for line in lines:
        layers = set(re.findall(r"`(\w+)`", line))
        below |= layers
        assert not {layer: ALLOWED[layer] - below for layer in layers if not ALLOWED[layer] <= below}
    assert below == set(ALLOWED) | {"errors"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_folder_of_the_code_that_a_page_names_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":  # of earlier versions too
        return
    text = page.read_text(encoding="utf-8").replace("<br/>", " ")
    named = re.findall(r"(?<![\w/])((?:ebmbench|pipelines|tests|benchmarks)/[\w/.]*+)(?!<)", text)
    assert not {name for name in named if not (ROOT / name.rstrip(".")).exists()} - set(EXAMPLES)
