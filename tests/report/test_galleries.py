"""Figures of images: crisp, small, the same bytes each time, and none that breaks for want of something."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ebmbench.report.build import build, draw
from ebmbench.report.figures.canvas import GAP, Canvas, fit_largest, fit_size
from ebmbench.report.figures.chains import brief
from ebmbench.report.figures.gallery import BETWEEN, TITLE, draw_panels
from ebmbench.report.figures.runs import read_image_runs
from ebmbench.report.figures.theme import LARGEST
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results, collect_results
from ebmbench.report.results.table import load_results
from ebmbench.report.text.images import Image as Figure
from ebmbench.report.text.images import fold_images
from tests.report.fixtures import Params
from tests.report.image_suite import glyphs, write_images


def project(report: Path) -> Path:
    return report.parents[2]


def change(cell: Path, keep: Any) -> None:
    """Leave only the arrays of a cell whose names are to be kept."""
    with np.load(cell / "pictures.npz") as stored:
        kept = {name: stored[name] for name in stored.files if keep(name)}
    np.savez(cell / "pictures.npz", **kept)


def test_the_same_runs_give_the_same_bytes(image_report: Path, image_params: Params, tmp_path: Path) -> None:
    again = build(write_images(tmp_path), image_params) / "figures"
    first = {file.name: file.read_bytes() for file in (image_report / "figures").iterdir()}
    assert first == {file.name: file.read_bytes() for file in again.iterdir()}


def test_pixels_are_enlarged_by_whole_numbers_and_never_blurred(image_report: Path) -> None:
    page = np.asarray(Image.open(image_report / "figures/gallery-digits-buffer.png").convert("L"))
    real = glyphs(64, (1, 8, 8), 0.05, 9)
    scale, left = 4, BETWEEN // 2
    for index in (0, 9, 63):
        x, y = (left + index % 8 * (8 * scale + GAP), TITLE + index // 8 * (8 * scale + GAP))
        expected = real[index, 0].repeat(scale, 0).repeat(scale, 1)
        assert np.array_equal(page[y : y + 8 * scale, x : x + 8 * scale], expected)


def test_grey_pages_have_one_channel_and_colours_stay_colours() -> None:
    page = Canvas(200, 100)
    page.paste(glyphs(1, (1, 8, 8), 0.0, 0)[0], 0, 0, 2)
    page.write("words", 100, 50)
    assert page.image().mode == "L"
    page.paste(glyphs(1, (3, 8, 8), 0.0, 0)[0], 20, 0, 2)
    assert page.image().mode == "RGB"
    assert page.image().size == (200, 100)


@pytest.mark.parametrize(("channels", "side"), [(1, 8), (3, 5)])
def test_many_noisy_panels_have_fewer_images_or_colours_rather_than_a_large_file(channels: int, side: int) -> None:
    panels = [("name", "note", glyphs(64, (channels, 28, 28), 0.3, seed)) for seed in range(9)]
    page, found = fit_largest(lambda side: draw_panels(panels, side), (8, 6, 5, 4))
    assert found >= side - 2
    assert fit_size(page) is not None


def test_the_run_that_is_shown_is_the_median_of_its_kind(image_report: Path) -> None:
    results = load_results(image_report)
    runs = read_image_runs(Results(results, root=project(image_report)), "digits", "short")
    (mle,) = [one for one in runs if one.name == "mle"]
    rows = results[(results["method"] == "mle") & (results["metric"] == "fid_ratio") & (results["samples"] == "short")]
    assert mle.ratio == rows["value"].median()
    assert mle.arrays["images"].shape == (64, 1, 8, 8)
    assert mle.value("class_entropy") is not None


def test_methods_without_a_kind_have_no_panel_and_the_titles_have_the_ratio(image_report: Path) -> None:
    text = (image_report / "report.md").read_text(encoding="utf-8")
    alt = next(line for line in text.splitlines() if line.endswith("(figures/gallery-digits-long.png)"))
    assert all(name in alt for name in ("mle: FID ratio ", "nce: FID ratio ", "ncsn: FID ratio "))
    assert not any(name in alt for name in ("cd:", "adance", "oracle", "ssm"))


def test_chains_are_short_ones_where_there_are_any(image_report: Path) -> None:
    text = (image_report / "report.md").read_text(encoding="utf-8")
    alt = next(line for line in text.splitlines() if line.endswith("(figures/chains-digits.png)"))
    assert "mle: short-run" in alt
    assert "ncsn: long-run" in alt
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
    assert "gallery-digits-buffer.png" in figures
    assert "gallery-digits-data.png" not in figures
    assert "classes-digits-buffer.svg" not in figures
    assert "chains-digits.png" in figures
    assert "baselines* | –" in text


def test_without_any_pictures_there_are_still_tables(image_params: Params, tmp_path: Path) -> None:
    root = write_images(tmp_path)
    for file in (root / "runs/pictures/digits").glob("*/pictures.npz"):
        file.unlink()
    images = draw(collect_results(root, image_params, collect(root, image_params)), tmp_path / "figures")
    assert images["samples"] == []
    assert [image.path for image in images["costs"]] == ["figures/cost-fid_ratio.svg"]


def test_of_many_galleries_only_the_first_is_open() -> None:
    found = [Figure(f"figures/{place}.png", "words", "caption", f"digits, {place}") for place in range(5)]
    assert "<details>" not in fold_images(found[:4])
    assert fold_images(found).startswith("![words](figures/0.png)")
    assert fold_images(found).count("<summary>digits, ") == 4


def test_every_file_is_smaller_than_the_limit_for_larger_images(image_params: Params, tmp_path: Path) -> None:
    root = write_images(tmp_path, (1, 28, 28))
    draw(collect_results(root, image_params, collect(root, image_params)), tmp_path / "figures")
    assert max(file.stat().st_size for file in (tmp_path / "figures").iterdir()) <= LARGEST
