"""What every file of the package that stands on a paper keeps: it says where the paper can be read."""

import re

import pytest

from ebmbench.config.registry import KINDS, describe, names
from ebmbench.report.text.links import BETWEEN

ENTRIES = [pytest.param(kind, name, id=f"{kind}-{name}") for kind in KINDS for name in names(kind)]
# A DOI, an arXiv number, or a page of a publisher or an author.
DOI, ARXIV = (
    re.compile(r"https://doi\.org/10\.\d{4,}/\S+"),
    re.compile(r"https://arxiv\.org/abs/(\d{4}\.\d{4,5}|[a-z-]+/\d{7})"),
)


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_it_links_its_papers(kind: str, name: str) -> None:
    entry = describe(kind, name)
    assert 1 <= len(entry.links) <= len(entry.paper.split(BETWEEN))
    for link in entry.links:
        assert "doi.org" not in link or DOI.fullmatch(link)
        assert "arxiv.org" not in link or ARXIV.fullmatch(link)


def test_a_paper_has_one_link_whoever_cites_it() -> None:
    found: dict[str, set[str]] = {}
    for kind, name in (one.values for one in ENTRIES):
        entry = describe(str(kind), str(name))
        for part, link in zip(entry.paper.split(BETWEEN), entry.links, strict=False):
            year = re.search(r"\b(?:19|20)\d\d\b", part)
            authors = re.sub(r"[(,].*", "", part).strip()
            found.setdefault(f"{authors} {year[0] if year else ''}", set()).add(link)
    assert not {authors: links for authors, links in found.items() if len(links) > 1}
