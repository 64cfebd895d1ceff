"""Every section and figure of the report keeps the contract: it is drawn or written from results, and stands in place.

The results are those of two small suites, one of a toy and one of images; each figure and section has to show
something of at least one of them, or of a table made for it.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ebmbench.errors import UserError
from ebmbench.report import figures, sections
from ebmbench.report.build import assemble, find_figures, find_sections, section_name
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.frame import collect
from ebmbench.report.results.groups import drop_silent_baselines
from ebmbench.report.results.suite import Results, collect_results
from tests.report.image_suite import PARAMS as IMAGE_PARAMS
from tests.report.image_suite import write_images
from tests.report.machine_suite import write_cell
from tests.report.made import DSM, NCE, TOY, crossed_table, frame_of, results_of
from tests.report.suite import PARAMS, write_suite

SECTIONS = {section_name(module): module for module in find_sections()}
FIGURES = {section_name(module): module for module in find_figures()}
SECTION = "TITLE = {title!r}\nORDER = {order}\ndef text(results): return {title!r}\n"
FIGURE = "SECTION = {section!r}\nORDER = {order}\ndef draw(results, folder): return []\n"

AddFile = Callable[[str, str], None]


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    """The results of both suites, without figures; of their cells only as many as something can be told from."""
    folder = tmp_path_factory.mktemp("suites")
    toy = PARAMS | {"benchmark": PARAMS["benchmark"] | {"datasets": ["eight_gaussians"]}}
    images = IMAGE_PARAMS | {"benchmark": IMAGE_PARAMS["benchmark"] | {"methods": ["mle"]}}
    found = []
    for write, params in ((write_suite, toy), (write_images, images)):
        root = write(folder / params["benchmark"]["suite"])
        found.append(collect_results(root, params, drop_silent_baselines(collect(root, params))))
    return found


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A cell of binary images, for the figures that only such data have."""
    return write_cell(tmp_path_factory.mktemp("binary"))


@pytest.fixture(scope="module")
def contrastive(suites: list[Results]) -> Results:
    """A suite of methods that tell data from noise, for the section that is about them."""
    names = {"mle": "nce", "ncsn": "cnce"}
    return replace(suites[0], frame=suites[0].frame.assign(method=suites[0].frame["method"].replace(names)))


@pytest.fixture(scope="module")
def special() -> dict[str, Results]:
    """Results for sections and figures that most suites do not have: several budgets, objectives and samplers."""
    budgets = results_of(TOY)
    params = {"benchmark": {"suite": "chains", "metrics": ["kl"]}}
    budgets = replace(budgets, params=budgets.params | {"benchmark": params["benchmark"]})
    four = Results(frame_of({name: {"nce": NCE, "dsm": DSM} for name in "abcd"}), params)
    return {"frontier": budgets, "profile": four, "samplers": Results(crossed_table((0.0, 0.1)), params)}


@pytest.fixture
def add_section(tmp_path: Path) -> Iterator[AddFile]:
    """Add a file to the sections, for one test."""
    yield from _adding(sections, tmp_path)


@pytest.fixture
def add_figure(tmp_path: Path) -> Iterator[AddFile]:
    """Add a file to the figures, for one test."""
    yield from _adding(figures, tmp_path)


def _adding(package: ModuleType, folder: Path) -> Iterator[AddFile]:
    def add(name: str, body: str) -> None:
        (folder / f"{name}.py").write_text(body, encoding="utf-8")

    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "__path__", [*package.__path__, str(folder)])
        yield add
    for name in set(sys.modules) - before:
        if Path(str(sys.modules[name].__file__)).parent == folder:
            del sys.modules[name]


def split_by_title(text: str) -> dict[str, str]:
    """The text below each heading of a report; what stands above the first has the heading ''."""
    first, *rest = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {"": first} | dict(zip(rest[::2], rest[1::2], strict=True))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_into_the_folder_and_shown_below_its_section(
    name: str, suites: list[Results], binary: Results, special: dict[str, Results], tmp_path: Path
) -> None:
    figure, drawn, known = FIGURES[name], 0, special | {"machines": binary}
    for place, results in enumerate([known[name]] if name in known else suites):
        report, before = tmp_path / str(place), results.frame.copy()
        with apply_theme():
            images = figure.draw(results, report / "figures")
        files = sorted(file.relative_to(report).as_posix() for file in report.rglob("*.*"))
        assert files == sorted(image.path for image in images)
        assert all((report / file).stat().st_size > 500 for file in files)
        assert all(len(text.split()) >= 3 for image in images for text in (image.alt, image.caption))
        assert results.frame.equals(before)
        shown = split_by_title(assemble_alone(figure.SECTION, replace(results, images={figure.SECTION: images})))
        assert all(f"({file})" in shown[SECTIONS[figure.SECTION].TITLE] for file in files)
        drawn += len(images)
    assert drawn


def assemble_alone(section: str, results: Results) -> str:
    """The report with this section and the last one only: to write all takes a second."""
    chosen = [one for one in find_sections() if section_name(one) in (section, "papers")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ebmbench.report.build.find_sections", lambda: chosen)
        return assemble(results)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_text_below_its_own_title_and_leaves_the_results_alone(
    name: str, suites: list[Results], contrastive: Results, special: dict[str, Results]
) -> None:
    suites = [*suites, contrastive, *([special[name]] if name in special else [])]
    before = [results.frame.copy() for results in suites]
    texts = [SECTIONS[name].text(results) for results in suites]
    assert any(texts)
    assert list(split_by_title("\n".join(texts))) == [""]  # headings inside a section are of a lower level
    if summary := getattr(SECTIONS[name], "FOLDED", ""):
        assert not re.search(r"[<>\n]", summary)  # the page would show such a fold as text
        assert not re.search(r"^#", "\n".join(texts), flags=re.MULTILINE)  # links to it would lead into the fold
    assert all(results.frame.equals(frame) for results, frame in zip(suites, before, strict=True))


def test_the_report_has_the_text_of_each_section_in_their_order(
    suites: list[Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in SECTIONS.items():
        monkeypatch.setattr(module, "text", lambda results, name=name: "" if name == "papers" else f"Text of {name}.")
    found = split_by_title(assemble(suites[0]))
    ordered = sorted((module for name, module in SECTIONS.items() if name != "papers"), key=lambda one: one.ORDER)
    titles = [module.TITLE for module in ordered]
    assert list(found) == list(dict.fromkeys(titles))  # without text there is no heading
    for module in ordered:
        assert f"Text of {section_name(module)}." in found[module.TITLE]
    assert found[""].index("Text of answer.") < found[""].index("Text of runs.")


def test_a_folded_section_is_closed_below_its_heading(add_section: AddFile, suites: list[Results]) -> None:
    add_section("mine", SECTION.format(title="Mine", order=-1) + "FOLDED = 'all of it'\n")
    folded = "## Mine\n\n<details>\n<summary>all of it</summary>\n\nMine\n\n</details>\n\n"
    assert folded in assemble_alone("mine", suites[0])


def test_every_file_of_the_sections_is_a_section() -> None:
    assert set(SECTIONS) == {file.stem for file in Path(sections.__path__[0]).glob("[a-z]*.py")}


def test_sections_with_the_same_order_stand_in_the_order_of_their_names(add_section: AddFile) -> None:
    order = SECTIONS["papers"].ORDER
    for name in ("zebra", "apple"):
        add_section(name, SECTION.format(title=name, order=order))
    names = [section_name(module) for module in find_sections()]
    assert names[names.index("apple") :] == ["apple", "papers", "zebra"]


def test_figures_with_the_same_order_stand_in_the_order_of_their_names(add_figure: AddFile) -> None:
    for name in ("zebra", "apple"):
        add_figure(name, FIGURE.format(section="papers", order=5000))
    assert [section_name(module) for module in find_figures()][-2:] == ["apple", "zebra"]


def test_a_figure_of_an_unknown_section_is_refused_before_anything_is_drawn(add_figure: AddFile) -> None:
    add_figure("stray", FIGURE.format(section="sample", order=1))
    line = r"^ebmbench/report/figures/stray\.py: SECTION: found 'sample', allowed: .*\(did you mean 'samples'\?\)$"
    with pytest.raises(UserError, match=line):
        find_figures()


@pytest.mark.parametrize("missing", ["TITLE", "ORDER", "text"])
def test_a_section_that_lacks_an_attribute_is_named_with_it(add_section: AddFile, missing: str) -> None:
    add_section("partial", SECTION.format(title="Mine", order=1).replace(missing, f"no_{missing}"))
    line = rf"^ebmbench/report/sections/partial\.py: found no {missing}, allowed: all of TITLE, ORDER, text$"
    with pytest.raises(UserError, match=line):
        find_sections()


@pytest.mark.parametrize("missing", ["SECTION", "ORDER", "draw"])
def test_a_figure_that_lacks_an_attribute_is_named_with_it(add_figure: AddFile, missing: str) -> None:
    add_figure("partial", FIGURE.format(section="papers", order=1).replace(missing, f"no_{missing}"))
    line = rf"^ebmbench/report/figures/partial\.py: found no {missing}, allowed: all of SECTION, ORDER, draw$"
    with pytest.raises(UserError, match=line):
        find_figures()
