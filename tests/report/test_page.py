"""The page without a browser: what it holds, what it never holds, and that it is the Markdown's own text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from ebmbench.cli.main import main
from ebmbench.report.page.html import make_anchor, render_body, render_page

OVERHEAD = 40_000  # bytes of style, scripts and frame


class Reader(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def body_of(text: str, folder: Path) -> Reader:
    return Reader(render_body(text, folder)[0])


def page_of(report: Path) -> str:
    return render_page((report / "report.md").read_text(encoding="utf-8"), report)


@pytest.mark.parametrize("of", ["report", "image_report"])
def test_the_page_names_nothing_that_a_browser_would_fetch(of: str, request: pytest.FixtureRequest) -> None:
    tags = Reader(page_of(request.getfixturevalue(of))).tags
    sources = [str(attributes["src"]) for _, attributes in tags if "src" in attributes]
    assert sources
    kinds = ("data:image/png;base64,", "data:image/webp;base64,", "data:image/svg+xml,")
    assert all(source.startswith(kinds) for source in sources)
    links = {str(attributes["href"]) for tag, attributes in tags if tag == "link"}
    assert links == {"data:,"}
    assert not [
        tag for tag, attributes in tags if "style" in attributes or any(name[:2] == "on" for name in attributes)
    ]


@pytest.mark.parametrize("of", ["report", "image_report"])
def test_the_page_holds_every_figure_and_little_else(of: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(of)
    text, tags = page_of(report), Reader(page_of(report)).tags
    figures = [attributes for tag, attributes in tags if tag == "img" and attributes.get("src")]
    assert len(figures) == len(list((report / "figures").iterdir()))
    assert all(int(one["width"] or 0) > 100 and int(one["height"] or 0) > 50 and one["alt"] for one in figures)
    embedded = sum(len(str(one["src"])) for one in figures)
    assert len(render_page("", report)) < OVERHEAD
    assert len(text) - embedded < OVERHEAD + 4 * (report / "report.md").stat().st_size


def test_the_command_writes_the_page_of_a_folder_and_its_links_lead_back(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["report", "page", str(report)]) == 0
    page = tmp_path / capsys.readouterr().out.strip()
    assert page == tmp_path / "work/pages/tiny-latest.html"
    text = page.read_text(encoding="utf-8")
    links = [str(attributes["href"]) for tag, attributes in Reader(text).tags if tag == "a"]
    files = [
        (page.parent / link.partition("#")[0]).resolve() for link in links if link[:1] != "#" and "://" not in link
    ]
    docs = [file for file in files if file.is_relative_to(report.parents[2] / "docs")]
    assert len(files) > len(docs) > 0
    assert all(file.is_relative_to(report) and file.exists() for file in files if file not in docs)
    assert [line for line in text.splitlines() if "<a href" not in line] == [
        line for line in page_of(report).splitlines() if "<a href" not in line
    ]


def test_a_folder_without_a_report_has_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["report", "page", "nowhere"]) == 2
    assert "nowhere: found no report, allowed: a folder with report.md or claims.md" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_a_report_has_no_page_inside_it(report: Path) -> None:
    assert not list(report.glob("*.html"))


def test_the_policy_allows_the_pages_own_script_and_no_other(report: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page_of(report))[1]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("path", ["https://example.org/a.png", "../a.png", "figures/none.png", "report.md", "/a.svg"])
def test_an_image_that_is_no_figure_of_the_report_is_its_text(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "report.md").write_text("text")
    (tmp_path / "a.png").write_bytes(b"not ours")
    found = body_of(f"![what it shows]({path})\n", folder)
    assert not [tag for tag, _ in found.tags if tag == "img"]
    assert "what it shows" in "".join(found.words)


@pytest.mark.parametrize("kind", ["png", "webp"])
def test_pixels_of_every_kind_are_inside_the_page_with_their_size(kind: str, tmp_path: Path) -> None:
    frames = [Image.new("P", (120, 60), colour) for colour in (0, 9)]
    frames[0].save(tmp_path / f"chain.{kind}", save_all=kind != "png", append_images=frames[1:])
    ((_, attributes),) = [one for one in body_of(f"![it moves](chain.{kind})", tmp_path).tags if one[0] == "img"]
    assert str(attributes["src"]).startswith(f"data:image/{kind};base64,")
    assert (attributes["width"], attributes["height"]) == ("120", "60")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<details>\n<summary><b onclick=x>a</b></summary>",
        "</details><img src=x>",
        "a <b>word</b>",
        "| a |\n| :--- |\n| <i>x</i> |",
    ],
)
def test_html_of_others_is_text(text: str, tmp_path: Path) -> None:
    found = body_of(text, tmp_path)
    assert not {tag for tag, _ in found.tags} - {"p", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert all(part in "".join(found.words) for part in re.findall(r"<[^>\n]*>", text))


def test_a_link_never_runs_a_script(tmp_path: Path) -> None:
    assert not [
        tag for tag, _ in body_of("[a](javascript:alert(1)) [b](data:text/html,x)", tmp_path).tags if tag == "a"
    ]


def test_folds_figures_and_captions_keep_their_place(report: Path) -> None:
    text = "![A map of it](figures/cost-kl.svg)\n\n*`a`: said *twice* of it.*\n\n"
    text += "<details>\n<summary>more</summary>\n\nb\n\n</details>\n"
    names = [tag for tag, _ in body_of(text, report).tags]
    assert names == ["figure", "img", "figcaption", "code", "em", "details", "summary", "p"]


def test_words_in_italics_at_both_ends_are_no_caption(report: Path) -> None:
    names = [tag for tag, _ in body_of("![A map of it](figures/cost-kl.svg)\n\n*one* and *two*\n", report).tags]
    assert names == ["figure", "img", "p", "em", "em"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Failures and skipped", "failures-and-skipped"),
        ("digits, buffer: the training chains", "digits-buffer-the-training-chains"),
        ("Chains, unrolled", "chains-unrolled"),
        ("two_moons – KL ↓", "two_moons--kl-"),
    ],
)
def test_anchors_are_those_of_github(words: str, expected: str) -> None:
    assert make_anchor(words, []) == expected


def test_equal_headings_have_different_anchors(tmp_path: Path) -> None:
    _, headings = render_body("# a\n\n## `a`\n\n## a\n", tmp_path)
    assert [one.anchor for one in headings] == ["a", "a-1", "a-2"]


def test_braces_in_a_report_are_its_own(tmp_path: Path) -> None:
    assert "<p>{{script}} of $title</p>" in render_page("# a\n\n{{script}} of $title\n", tmp_path)
