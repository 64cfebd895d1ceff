"""Figures of images: crisp, small, the same bytes each time, and none that breaks for want of something."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ebmbench.report.build import build, draw
from ebmbench.report.figures import class_samples, gallery
from ebmbench.report.figures.canvas import GAP, LETTER, Canvas, fit_largest, fit_size
from ebmbench.report.figures.chains import brief
from ebmbench.report.figures.gallery import BETWEEN, HEAD, draw_rows, share_columns
from ebmbench.report.figures.runs import read_image_runs
from ebmbench.report.figures.theme import LARGEST
from ebmbench.report.page.html import render_page
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results, collect_results
from ebmbench.report.results.table import load_results
from ebmbench.report.text.images import Image as Figure
from ebmbench.report.text.images import show_images
from tests.report.fixtures import Params
from tests.report.image_suite import STEPS, glyphs, write_images


def project(report: Path) -> Path:
    return report.parents[2]


def change(cell: Path, keep: Any) -> None:
    """Leave only the arrays of a cell whose names are to be kept."""
    with np.load(cell / "pictures.npz") as stored:
        kept = {name: stored[name] for name in stored.files if keep(name)}
    np.savez(cell / "pictures.npz", **kept)


def test_the_same_runs_give_the_same_bytes(image_report: Path, image_params: Params, tmp_path: Path) -> None:
    root, again = write_images(tmp_path), tmp_path / "again"
    draw(collect_results(root, image_params, collect(root, image_params)), again)
    first = {file.name: file.read_bytes() for file in (image_report / "figures").iterdir()}
    assert first == {file.name: file.read_bytes() for file in again.iterdir()}


def test_pixels_are_enlarged_by_whole_numbers_and_never_blurred(image_report: Path) -> None:
    page = np.asarray(Image.open(image_report / "figures/gallery-digits.png").convert("L"))
    real = glyphs(64, (1, 8, 8), 0.05, 9)
    scale, left, top = 4, BETWEEN // 2, 2 * HEAD  # names are long: they have a line of their own
    for index in (0, 4, 7):
        x, y = (left + index % 5 * (8 * scale + GAP), top + index // 5 * (8 * scale + GAP))
        expected = real[index, 0].repeat(scale, 0).repeat(scale, 1)
        assert np.array_equal(page[y : y + 8 * scale, x : x + 8 * scale], expected)


def test_samples_of_a_class_are_in_its_row_and_those_of_the_median_run(image_report: Path) -> None:
    results = Results(load_results(image_report), {}, project(image_report), {})
    (run,) = [one for one in read_image_runs(results, "digits", "short") if one.name == "mle"]
    with np.load(project(image_report) / "runs/pictures/digits/mle/pictures.npz") as stored:
        images = stored[f"conditional:{run.label}"]
    page = np.asarray(Image.open(image_report / "figures/class-samples-digits.png").convert("L"))
    scale, left, top = 4, 8 + LETTER, class_samples.HEAD
    for row, column in ((0, 0), (7, 2), (9, 15)):
        x, y = left + column * (8 * scale + GAP), top + row * (8 * scale + GAP)
        expected = images[row, column, 0].repeat(scale, 0).repeat(scale, 1)
        assert np.array_equal(page[y : y + 8 * scale, x : x + 8 * scale], expected)


def test_grey_pages_have_one_channel_and_colours_stay_colours() -> None:
    page = Canvas(200, 100)
    page.paste(glyphs(1, (1, 8, 8), 0.0, 0)[0], 0, 0, 2)
    page.write("words", 100, 50)
    assert page.image().mode == "L"
    page.paste(glyphs(1, (3, 8, 8), 0.0, 0)[0], 20, 0, 2)
    assert page.image().mode == "RGB"
    assert page.image().size == (200, 100)


@pytest.mark.parametrize("channels", [1, 3])
def test_many_noisy_tiles_have_fewer_images_or_colours_rather_than_a_large_file(channels: int) -> None:
    tiles = [(place % 3, "name", "1.23", glyphs(64, (channels, 28, 28), 0.3, place)) for place in range(27)]
    rows = [tiles[place : place + 3] for place in range(0, 27, 3)]
    page, _ = fit_largest(lambda lines: draw_rows([["short"], ["long"], ["buffer"]], tiles[:3], rows, lines), (2, 1))
    assert fit_size(page) is not None


def test_kinds_share_a_column_if_no_method_has_both() -> None:
    names = {"buffer": {"mle"}, "short": {"mle", "cd"}, "long": {"mle", "cd"}, "data": {"cd"}}
    assert share_columns(names) == [["short"], ["long"], ["buffer", "data"]]
    assert share_columns(names | {"data": {"mle"}}) == [["short"], ["long"], ["buffer"], ["data"]]
    assert share_columns({"short": {"mle"}, "long": set()}) == [["short"]]


def test_the_run_that_is_shown_is_the_median_of_its_kind(image_report: Path) -> None:
    results = load_results(image_report)
    runs = read_image_runs(Results(results, root=project(image_report)), "digits", "short")
    (mle,) = [one for one in runs if one.name == "mle"]
    rows = results[(results["method"] == "mle") & (results["metric"] == "fid_ratio") & (results["samples"] == "short")]
    assert mle.ratio == rows["value"].median()
    assert mle.arrays["images"].shape == (64, 1, 8, 8)
    assert mle.value("class_entropy") is not None


def test_a_gallery_has_each_method_once_with_its_kinds_side_by_side_and_references_once(
    image_report: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def keep(*shown: Any) -> Image.Image:
        seen.append(shown)
        return Image.new("L", (9, 9))

    monkeypatch.setattr(gallery, "draw_rows", keep)
    (image,) = gallery.draw(Results(load_results(image_report), root=project(image_report)), tmp_path)
    columns, references, rows, _ = seen[0]
    assert [name for _, name, _, _ in references] == ["real images", "gaussian", "noisy"]
    assert columns == [["short"], ["long"], ["buffer"], ["data"]]
    shown = {row[0][1]: [place for place, _, _, images in row if images is not None] for row in rows}
    assert (shown["mle"], shown["cd"], shown["ncsn"]) == ([0, 1, 2], [0, 2, 3], [1])
    assert not {"oracle", "ssm"} & set(image.alt.replace(",", "").split())


def test_a_strip_is_of_short_runs_with_the_best_first_and_small(image_report: Path) -> None:
    text = (image_report / "report.md").read_text(encoding="utf-8")
    alt = next(line for line in text.splitlines() if line.endswith("(figures/strip-digits.png)"))
    order = [f"adance interval={interval}" for interval in (1, 5, 20)]
    found = alt.partition("samples of ")[2].partition(".]")[0].split(", ")
    assert found == [order[0], "mle", order[1], "cd", order[2], "nce"]
    file = image_report / "figures/strip-digits.png"
    assert file.stat().st_size <= 150_000
    with Image.open(file) as strip:
        assert 700 < strip.width <= 840


def test_a_film_ends_where_it_begins_with_the_samples_and_leads_there_from_noise(image_report: Path) -> None:
    frames, times = [], []
    with Image.open(image_report / "figures/film-digits.webp") as film:
        assert film.n_frames == len(STEPS)
        for place in range(film.n_frames):
            film.seek(place)
            film.load()
            frames.append(np.asarray(film.convert("L"), dtype=float))
            times.append(film.info["duration"])
    assert times[0] > times[1] > times[2] >= 500
    assert film.info["loop"] == 0
    far = [float(np.abs(frame - frames[0]).mean()) for frame in frames]
    assert far[1] == max(far) > 5 * far[-1] > 0
    page = render_page((image_report / "report.md").read_text(encoding="utf-8"), image_report)
    assert (
        f"data:image/webp;base64,{b64encode((image_report / 'figures/film-digits.webp').read_bytes()).decode()}" in page
    )


def test_numbers_of_steps_are_brief() -> None:
    assert [brief(step) for step in (0, 200, 1000, 1500, 20_000)] == ["0", "200", "1k", "1.5k", "20k"]


def test_whatever_is_missing_is_left_out(image_params: Params, tmp_path: Path) -> None:
    root = write_images(tmp_path)
    cells = root / "runs/pictures/digits"
    (cells / "mle/pictures.npz").unlink()
    (cells / "_baselines/rows.csv").unlink()
    change(cells / "cd", lambda name: name in ("real", "classes"))
    change(cells / "nce", lambda name: not name.startswith(("classes", "chain_steps")))
    change(cells / "adance", lambda name: name.startswith("images"))
    change(cells / "ncsn", lambda name: not name.startswith("images"))
    text = (build(root, image_params) / "report.md").read_text(encoding="utf-8")
    figures = {file.name for file in (root / "reports/pictures/latest/figures").iterdir()}
    assert {"gallery-digits.png", "chains-digits.png", "classes-digits.png"} <= figures
    assert "baselines* | –" in text


def test_without_any_pictures_there_are_still_tables(image_params: Params, tmp_path: Path) -> None:
    root = write_images(tmp_path)
    for file in (root / "runs/pictures/digits").glob("*/pictures.npz"):
        file.unlink()
    images = draw(collect_results(root, image_params, collect(root, image_params)), tmp_path / "figures")
    assert images["samples"] == []
    assert [image.path for image in images["costs"]] == ["figures/cost-fid_ratio.svg"]


def test_what_is_closed_is_folded_away_by_its_title() -> None:
    found = [Figure("figures/a.png", "words", "caption"), Figure("figures/b.png", "words", "caption", "b", closed=True)]
    assert show_images(found).startswith("![words](figures/a.png)\n\n*caption*\n\n<details>\n<summary>b</summary>")


def test_every_file_is_smaller_than_the_limit_for_larger_images(image_params: Params, tmp_path: Path) -> None:
    root = write_images(tmp_path, (1, 28, 28))
    draw(collect_results(root, image_params, collect(root, image_params)), tmp_path / "figures")
    assert max(file.stat().st_size for file in (tmp_path / "figures").iterdir()) <= LARGEST
